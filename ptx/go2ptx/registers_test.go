package go2ptx_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx"
)

// A kernel with a large loop that computes with numbers from shared memory has a budget of registers. Other kernels
// have none, because fewer threads could hide less latency, and the user's directives have priority.
func TestRegisterBudget(t *testing.T) {
	const guarded = `
	if len(x) < 32 {
		return
	}
	var p float32
	if i := t.GlobalX(); i < len(x) {
		p = x[i]
	}
	tile[t.ThreadX()%256] = p
	t.Sync()
	v := x[31]
	for j := range tile {
		d := tile[j] - p
		v += d * d * d / (1 + d*d)
	}
	if i := t.GlobalX(); i < len(x) {
		x[i] = v
	}
`
	checked := guarded + "\tx[len(x)/2+t.ThreadX()] = v\n"
	const load = "d := tile[j]"
	sums := func(n int) string {
		s := strings.Replace(guarded, "	v := x[31]\n", fmt.Sprintf("	v := x[31]\n	var w [%d]float32\n", n), 1)
		s = strings.Replace(s, load+" - p\n", load+" - p\n		for k := range w {\n			w[k] += d * float32(k)\n		}\n", 1)
		s = strings.Replace(s, "	for j := range tile", "	//gpu:unroll 16\n	for j := range tile", 1)
		return strings.Replace(s, "		x[i] = v\n", "		for k := range w {\n			v += w[k]\n		}\n		x[i] = v\n", 1)
	}
	for _, c := range []struct{ directive, body, want string }{
		{"block=256", guarded, ".minnctapersm 4\n"},
		{"block=256", checked, ".minnctapersm 3\n"},
		{"block=64", guarded, ".minnctapersm 16\n"},
		{"block=16", guarded, ".minnctapersm 32\n"},
		{"block=16x16x2", guarded, ".minnctapersm 2\n"},
		{"block=1024", checked, ".minnctapersm 1\n"},
		{"block=256 minblocks=2", guarded, ".minnctapersm 2\n"},
		{"block=256 regs=40", guarded, ""},
		{"", guarded, ""},
		{"block=256", strings.Replace(guarded, load, "d := x[j&31] * tile[j]", 1), ""},
		{"block=256", strings.Replace(guarded, load, "d := x[0] * tile[j]", 1), ".minnctapersm 4\n"},
		{"block=256", strings.Replace(guarded, load, "d := tile[2] * float32(j)", 1), ""},
		{"block=256", strings.Replace(guarded, "tile[j] - p\n\t\tv += d * d * d / (1 + d*d)", "tile[j]\n\t\tv += d", 1), ""},
		{"block=256", strings.Replace(guarded, "v += d * d * d / (1 + d*d)", "k := int32(d); for range 10 { k = k*k + 1 }; v = max(v, float32(k))", 1), ""},
		{"block=256", sums(20), ".minnctapersm 4\n"},
		{"block=256", sums(40), ""},
		// The numbers of a loop around this one must be in registers, too.
		{"block=256", strings.Replace(strings.Replace(sums(40), "	//gpu:unroll 16\n", "	for range len(x) {\n	//gpu:unroll 16\n", 1), "		for k := range w {\n			w[k] += d * float32(k)\n		}\n		v += d * d * d / (1 + d*d)\n	}\n",
			"		v += d * d * d / (1 + d*d)\n	}\n	for k := range w {\n		w[k] = w[k]*v + 1\n	}\n	}\n", 1), ""},
	} {
		directive := "//gpu:kernel " + c.directive
		text := "package p\n\nimport \"github.com/purecuda/cuda/ptx/gpu\"\n\n" + strings.TrimSpace(directive) +
			"\nfunc k(t gpu.Thread, x []float32) {\n\ttile := gpu.Shared[[256]float32](t)\n" + c.body + "}\n"
		out, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{Path: "p", GoVersion: "1.25", Files: []go2ptx.File{{Name: "k.go", Data: []byte(text)}}}})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		_, got, _ := strings.Cut(string(out.PTX), ".minnctapersm")
		if got, _, _ = strings.Cut(got, "\n"); got != "" {
			got = ".minnctapersm" + got + "\n"
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q\n%s", directive, got, c.want, c.body)
		}
	}
}
