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
