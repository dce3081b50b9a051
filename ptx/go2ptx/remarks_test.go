package go2ptx_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx"
)

// The remarks mention barriers that some threads of a block may not reach.
func TestRemarksOfBarriers(t *testing.T) {
	const text = `package p

import "github.com/purecuda/cuda/ptx/gpu"

//gpu:kernel
func some(t gpu.Thread, x []int32) {
	if t.ThreadX() < 7 {
		x[0]++
		t.Sync()
	}
	x[1]++
}

//gpu:kernel
func all(t gpu.Thread, x []int32) {
	if len(x) < 7 {
		x[0]++
		t.Sync()
	}
	x[1]++
}
`
	out, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{Path: "p", Files: []go2ptx.File{{Name: "p.go", Data: []byte(text)}}}})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	var lines []int
	for _, r := range out.Remarks {
		if strings.Contains(r.Text, "may reach this barrier") {
			lines = append(lines, r.Pos.Line)
		}
	}
	if len(lines) != 1 || lines[0] != 9 {
		t.Errorf("barriers in lines %v, want line 9", lines)
	}
}

// The bounds check of a global index is removed if the kernel compares the index with the length,
// even if the block size is known.
func TestGuardedIndex(t *testing.T) {
	for directive, want := range map[string]int{"": 0, "block=256": 0, "maxblock=64": 0} {
		text := "package p\n\nimport \"github.com/purecuda/cuda/ptx/gpu\"\n\n//gpu:kernel " + directive + `
func k(t gpu.Thread, x []float32) {
	if i := t.GlobalX(); i < len(x) {
		x[i]++
	}
}
`
		out, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{Path: "p", Files: []go2ptx.File{{Name: "p.go", Data: []byte(text)}}}})
		if err != nil {
			t.Fatal(err)
		}
		if n := out.Kernels[0].Checks; n != want {
			t.Errorf("%q: %d checks remain, want %d", directive, n, want)
		}
	}
}

// Remarks and totals count a kernel's checks and barriers once, although there is a version for parameters that
// are not aligned.
func TestRemarksOfVersions(t *testing.T) {
	const text = `package p

import "github.com/purecuda/cuda/ptx/gpu"

//gpu:kernel block=256 restrict=x,y
func k(t gpu.Thread, x, y []complex64, n int) {
	a := x[0]
	b := x[1]
	c := x[2]
	if n > t.ThreadX() {
		t.Sync()
	}
	y[n] = b
	y[2] = a
	y[5] = c
}
`
	out, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{Path: "p", Files: []go2ptx.File{{Name: "p.go", Data: []byte(text)}}}})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(out.PTX), "bar.sync"); n != 2 {
		t.Errorf("%d barriers, want one for each of two versions:\n%s", n, out.PTX)
	}
	checks := 0
	for _, r := range out.Remarks {
		if strings.Contains(r.Text, "times") {
			t.Errorf("a remark counts both versions: %s", r.Text)
		}
		if strings.Contains(r.Text, "check remains") {
			checks++
		}
	}
	if checks == 0 || out.Kernels[0].Checks != checks {
		t.Errorf("%d checks, and %d remarks about checks: %v", out.Kernels[0].Checks, checks, out.Remarks)
	}
}
