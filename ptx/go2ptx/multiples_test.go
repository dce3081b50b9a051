package go2ptx_test

import "testing"

// If an index and a bound are multiples of the same power of two, the index is that much below the bound.
func TestDistancesOfMultiples(t *testing.T) {
	for body, checks := range map[string]int{
		// The checks of the slice expression and of the alignment remain, and otherwise that of the conversion.
		"x = x[:4*n]; if i := 4 * t.GlobalX(); i < len(x) { *(*[4]float32)(x[i:]) = [4]float32{} }":   2,
		"x = x[:4*n]; if i := 2 * t.GlobalX(); i < len(x) { *(*[4]float32)(x[i:]) = [4]float32{} }":   3,
		"x = x[:2*n]; if i := 4 * t.GlobalX(); i < len(x) { *(*[4]float32)(x[i:]) = [4]float32{} }":   3,
		"x = x[:8*n]; if i := 8 * t.GlobalX(); i < len(x) { *(*[8]float32)(x[i:]) = [8]float32{} }":   1,
		"x = x[:8*n]; if i := 8 * t.GlobalX(); i < len(x) { *(*[16]float32)(x[i:]) = [16]float32{} }": 2,
		// The variable is aligned.
		"s := gpu.Shared[[64]float32](t); *(*[4]float32)(s[4*t.ThreadX()%64:]) = [4]float32{1}; x[0] = s[n&63]": 0,
		"s := gpu.Shared[[64]float32](t); *(*[4]float32)(s[2*t.ThreadX()%64:]) = [4]float32{1}; x[0] = s[n&63]": 2,
		"s := gpu.Shared[[64]float32](t); *(*[4]float32)(s[4*t.ThreadX()%62:]) = [4]float32{1}; x[0] = s[n&63]": 1,
	} {
		if out := compileBody(t, "\t"+body); out.Kernels[0].Checks != checks {
			t.Errorf("%s: %d checks, want %d: %v\n%s", body, out.Kernels[0].Checks, checks, out.Remarks, out.PTX)
		}
	}
}
