package go2ptx_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx"
)

// The remarks name barriers that not all threads of a block may reach.
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
