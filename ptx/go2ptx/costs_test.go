package go2ptx_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx"
)

// TestCosts verifies what docs/kernels-costs.md says about checks, divisions, vectors and local
// memory. Each body is compiled in a kernel with the parameters below.
func TestCosts(t *testing.T) {
	const head = `package p

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)

var _ = math32.Exp

//gpu:noinline
func called(x float32) float32 { return x * x }

//gpu:kernel block=256
func k(t gpu.Thread, x, y []float32, v gpu.View[float32], z []complex64, n int, u uint32) {
	i := t.GlobalX()
	_ = i
`
	for _, c := range []struct {
		body             string
		checks, local    int
		contains, misses string // text in the PTX or the remarks
	}{
		{"if i < len(x) { x[i] = 1 }", 0, 0, "", ""},
		{"if i < len(x) && i < len(y) { x[i] = y[i] }", 0, 0, "", ""},
		{"if i < n { x[i] = 1 }", 1, 0, "index check", ""},
		{"if i >= len(x) || i+2 >= len(y) { return }; x[i] = y[i+2]", 0, 0, "", ""},
		{"if i < v.Len() { v.Set(i, 1) }", 0, 0, "", ""},
		{"for j := range x { x[j] = 1 }", 0, 0, "", ""},
		{"for j := 0; j < len(x); j++ { x[j] = 1 }", 0, 0, "", ""},
		{"a := gpu.Shared[[16]float32](t); a[u&15] = 1; t.Sync(); x[0] = a[u%16]", 1, 0, "", ""},
		{"row := x[n:][:64]; for j := range row { row[j] = 1 }", 2, 0, "slice check", "index check"},
		{"x[0] = x[u/3]", 2, 0, "", "integer division"},
		{"x[0] = float32(n / 8)", 1, 0, "", "integer division"},
		{"x[0] = float32(n / (n+1))", 2, 0, "64-bit integer division", ""},
		{"x[0] = float32(u / (u+1))", 2, 0, "32-bit integer division", "64-bit"},
		{"x[0] = float32(n / 7)", 1, 0, "", "64-bit integer division"},
		{"x[0] = float32(int32(n) % 7)", 1, 0, "32-bit integer division", "divide check"},
		{"x[0] = float32(u / 7)", 1, 0, "", "integer division"},
		{"x[0] = 0.5 * x[0] + 1", 1, 0, "fused", "float64"},
		{"x[0] = math32.Exp(x[0])", 1, 0, "", "float64"},
		{"z[0] = z[0] * z[0]", 1, 0, "float64 arithmetic", ""},
		{"x[0] = gpu.ApproxDiv(x[0], 3)", 1, 0, "div.approx", ""},
		{"a := [4]float32{1, 2, 3, 4}; x[0] = a[2]", 1, 0, "", ".local"},
		{"var a [4]float32; a[u&3] = 1; x[0] = a[n&3]", 1, 16, "variable a in local memory, 16 bytes", ""},
		{"x[0] = called(x[0])", 1, 0, "call of p.called is not inlined", ""},
		{"f := func(a float32) float32 { return a + 1 }; x[0] = f(x[0])", 1, 0, "", "call"},
		{"*(*[4]float32)(x) = [4]float32{1, 2, 3, 4}", 2, 0, "st.global.v4.f32", ""},
	} {
		text := head + c.body + "\n}\n"
		out, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{Path: "p", Files: []go2ptx.File{{Name: "p.go", Data: []byte(text)}}}})
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		all := string(out.PTX)
		for _, r := range out.Remarks {
			all += r.Text + "\n"
		}
		k := out.Kernels[0]
		if k.Checks != c.checks || k.Local != c.local || !strings.Contains(all, c.contains) || c.misses != "" && strings.Contains(all, c.misses) {
			t.Errorf("%s: %d checks and %d bytes of local memory, want %d and %d; %q must be there, %q must not:\n%s", c.body, k.Checks, k.Local, c.checks, c.local, c.contains, c.misses, all[strings.LastIndex(all, "}"):])
		}
	}
}
