package go2ptx_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx"
)

func compileBody(t *testing.T, body string) *go2ptx.Output {
	t.Helper()
	text := "package p\n\nimport \"github.com/purecuda/cuda/ptx/gpu\"\n\n//gpu:kernel block=256\n" +
		"func k(t gpu.Thread, x []float32, n int) {\n\tif len(x) < 1024 {\n\t\treturn\n\t}\n" + body + "\n}\n"
	out, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{Path: "p", GoVersion: "1.25", Files: []go2ptx.File{{Name: "k.go", Data: []byte(text)}}}})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// Loops with few iterations become copies of their bodies, and arrays that only such loops index are in
// registers.
func TestUnrolledLoops(t *testing.T) {
	for body, stores := range map[string]int{
		"for i := range 5 { x[i] = 1 }":                                                                      5,
		"for i := 0; i < 128; i++ { x[i] = 1 }":                                                              128,
		"for i := 7; i >= 0; i -= 2 { x[i] = 1 }":                                                            4,
		"for d := 16; d > 0; d /= 2 { x[d] = 1 }":                                                            5,
		"for i := range 4 { for j := range 3 { x[8*i+2*j] = 1 } }":                                           12,
		"for i := range 0 { x[i] = 1 }; x[0] = 1":                                                            1,
		"for i := 0; i < 3; i++ { t.Sync(); x[i] = gpu.ShuffleXor(t, float32(i), 1) }":                       3,
		"var a [4]float32; for i := range a { a[i] = float32(i * n) }; for i := range a { x[i] = a[3-i] }":   4,
		"for i := 0; ; i++ { x[i] = 1; if i == 4 { break } }":                                                5,
		"for i := 0; ; i++ { if n > i { x[i] = 1 }; if i == 2 { break }; x[i+9] = 2 }":                       5,
		"i, s := 0, 0; for { s += n; if i >= 3 { break }; i++ }; x[i] = float32(s)":                          1,
		"i := 0; for ; i < 6; i++ { x[i] = 1 }; x[i] = 2":                                                    7,
		"v := float32(n); switch n { case 1: v = 5; case 2: v = 6; case 3: }; for i := range 4 { x[i] = v }": 4,
		"for i := range 3 { if n > i { x[i] = 1 } else { x[i] = 2 } }":                                       6,
		// The numbers of iterations of the inner loops are constant if the outer loops are unrolled.
		"for s := 2; s <= 1024; s *= 2 { for d := s / 2; d > 0; d /= 2 { t.Sync(); x[d] = 1 } }":    55,
		"for i := range 16 { for j := i; j < 16; j += 2 { if n > j { continue }; x[64*i+j] = 1 } }": 72,
	} {
		out := compileBody(t, "\t"+body)
		if n := strings.Count(string(out.PTX), "st.global.f32"); n != stores {
			t.Errorf("%s: %d stores, want %d", body, n, stores)
		}
		if k := out.Kernels[0]; strings.Contains(string(out.PTX), ".local") || k.Checks > 0 {
			t.Errorf("%s: %d checks, and the text is\n%s", body, k.Checks, out.PTX)
		}
	}
}

// These loops are unrolled partially, or not at all.
func TestLoopsThatRemain(t *testing.T) {
	for body, want := range map[string]struct{ stores, checks int }{
		"for i := range 129 { x[i] = 1 }":                                                       {5, 0}, // 129 is divisible by 3 and 43
		"for i := range 130 { x[i] = 1 }":                                                       {13, 0},
		"for i := range 1024 { x[i] = 1 }":                                                      {16, 0},
		"for i := t.ThreadX(); i < 1024; i += 256 { x[i] = 1 }":                                 {4, 0},
		"for i := t.ThreadX(); i < 1024; i += t.BlockDimX() { x[i] = 1 }":                       {4, 0},
		"for i := t.ThreadX(); i < 1000; i += 10 { x[i] = 1 }":                                  {5, 0},
		"for i := range n { x[i] = 1 }":                                                         {5, 1},
		"for i := range x { x[i] = 1 }":                                                         {5, 0},
		"for i := len(x) - 1; i >= 0; i-- { x[i] = 1 }":                                         {5, 0},
		"for i := t.GlobalX(); i < len(x); i += t.GridStrideX() { x[i] = 1 }":                   {5, 0},
		"for i := int32(0); i < int32(n); i++ { x[i] = 1 }":                                     {5, 1},
		"for i := range n { if i == len(x)/2 { break }; x[i] = 1 }":                             {5, 1},
		"for i := range 9 { for j := range n { x[j] = float32(i) } }":                           {5, 1},
		"for i := range 17 { for j := i; j < 17; j++ { x[32*i+j] = 1 } }":                       {5, 0},
		"for i := range 9 {\n\t//gpu:unroll 1\n\tfor j := range 3 { x[3*i+j] = float32(n) }\n}": {1, 0},
		"for i := range 16 { for j := i; j < 128; j++ { t.Sync(); x[i+j] = float32(n * j) } }":  {1, 0},
		// After the first store, an iteration cannot be repeated.
		"for i := range n { x[i] = 1; if x[i+1] == 0 { break } }":                    {1, 2},
		"for i := 0; i < 5; i += n { x[i] = 1 }":                                     {1, 1},
		"for i := 1; i > 0; { x[i] = 1 }":                                            {1, 0},
		"for i := range n { t.SyncWarp(); x[i] = 1 }":                                {1, 1},
		"for i := range n { gpu.AtomicAdd(&x[i], 1); x[i] = 1 }":                     {1, 1},
		"for i := 0; ; i++ { if n > 5 && i == 4 { break }; x[i] = 1 }":               {1, 1},
		"for i := 0; ; i++ { if n > i { continue }; if i == 4 { break }; x[i] = 1 }": {1, 1},
	} {
		out := compileBody(t, "\t"+body)
		if n := strings.Count(string(out.PTX), "st.global.f32"); n != want.stores || out.Kernels[0].Checks != want.checks {
			t.Errorf("%s: %d stores and %d checks, want %d and %d: %v\n%s", body, n, out.Kernels[0].Checks, want.stores, want.checks, out.Remarks, out.PTX)
		}
	}
}

// An unroll directive determines how many iterations are executed at a time, in spite of the limits.
func TestUnrollDirective(t *testing.T) {
	for body, stores := range map[string]int{
		"//gpu:unroll 1\n\tfor i := range 5 { x[i] = 1 }":                                                1,
		"//gpu:unroll 0\n\tfor i := range x { x[i] = 1 }":                                                1,
		"//gpu:unroll 2\n\tfor i := range x { x[i] = 1 }":                                                3,
		"//gpu:unroll 7\n\tfor i := 0; i < len(x); i += 3 { x[i] = 1 }":                                  8,
		"//gpu:unroll 5\n\tfor i := range 5 { x[i] = 1 }":                                                5,
		"//gpu:unroll 4\n\tfor i := range 8 { x[i] = 1 }":                                                4,
		"//gpu:unroll 3\n\tfor i := range 8 { x[i] = 1 }":                                                4,
		"//gpu:unroll 64\n\tfor i := range 1024 { x[i] = 1 }":                                            64,
		"//gpu:unroll 2\n\t// Two at a time.\n\tfor i := t.GlobalX(); i < len(x); i += 2*n { x[i] = 1 }": 1, // the step may be negative
		"//gpu:unroll 8\nloop:\n\tfor i := range x { if i == n { break loop }; x[i] = 1 }":               9,
		"for range 2 {\n\t//gpu:unroll 2\n\tfor i := range x { x[i] = 1 }\n}":                            6,
		"for range 2 {\n\t//gpu:unroll 1\n\tfor i := range x { x[i] = 1 }\n}":                            2,
	} {
		out := compileBody(t, "\t"+body)
		if n := strings.Count(string(out.PTX), "st.global.f32"); n != stores {
			t.Errorf("%s: %d stores, want %d\n%s", body, n, stores, out.PTX)
		}
	}
}

// A nest of loops with a large body keeps its outer loop, even if the inner one is unrolled.
func TestLargeNestsRemain(t *testing.T) {
	const body = "v := x[min(max(i*n+j, 0), 1023)]; d := (v - x[(i*n-j)&1023]) * x[(i+j*n)&1023]; s += gpu.ApproxExp(-d*d) * v; w += gpu.ApproxExp(-d*d)"
	for trips, copies := range map[string]int{"4": 16, "11": 11} {
		text := "\tvar s, w float32\n\tfor i := range " + trips + " {\n\t\tfor j := range " + trips + " {\n\t\t\t" + body + "\n\t\t}\n\t}\n\tx[0] = s / w"
		out := compileBody(t, text)
		if n := strings.Count(string(out.PTX), "ex2.approx"); n != copies {
			t.Errorf("%s iterations: %d copies, want %d\n%s", trips, n, copies, out.PTX)
		}
	}
}
