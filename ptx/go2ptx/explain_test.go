package go2ptx_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx"
)

const explained = `package p

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math"
)

//gpu:kernel block=32
func all(t gpu.Thread, v gpu.View[float64], x []float32, n int, k uint32) {
	tile := gpu.Shared[[32]float32](t)
	i := t.GlobalX()
	tile[t.ThreadX()%32] = x[i]
	t.Sync()
	four := *(*[4]float32)(x[4*i:])
	*(*[4]float32)(x[4*i:]) = four
	x[i/n] = tile[k%32]*x[1] + 3
	v.Set(i, math.Exp(v.At(i)))
	x[2] = float32(fibonacci(int(k)))
}

func fibonacci(n int) int {
	var last [4]int
	for i := range n {
		last[i%4] = i
	}
	if n < 2 {
		return last[n]
	}
	return fibonacci(n-1) + fibonacci(n-2)
}
`

// Remarks refer to lines of the user's package, even for inlined code of package gpu.
func TestRemarks(t *testing.T) {
	out, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{Path: "p", Files: []go2ptx.File{{Name: "p.go", Data: []byte(explained)}}}})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	var all strings.Builder
	for _, r := range out.Remarks {
		fmt.Fprintf(&all, "%d %s\n", r.Pos.Line, r.Text)
		if r.Pos.Filename != "p.go" {
			t.Errorf("a remark is in %s: %s", r.Pos, r.Text)
		}
	}
	k := out.Kernels[0]
	for _, want := range []string{
		fmt.Sprintf("9 kernel all: checks: %d, shared memory: 128 bytes, variables in local memory: 32 bytes for each level of recursion\n", k.Checks),
		"12 p.all: index check remains\n",
		"14 p.all: load of a vector of 4\n",
		"14 p.all: slice check remains\n",
		"15 p.all: store of a vector of 4\n",
		"16 p.all: 64-bit integer division\n",
		"16 p.all: divide check remains\n",
		"16 p.all: multiplication and addition fused\n",
		"17 p.all: float64 arithmetic in math.Exp",
		"17 p.all: multiplication and addition fused in math.Exp",
		"18 p.all: call of p.fibonacci is not inlined\n",
		"22 p.fibonacci: variable last in local memory, 32 bytes\n",
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no remark %q", want)
		}
	}
	if k.Shared != 128 || k.Local != 32 || k.Checks < 5 {
		t.Errorf("kernel is %+v", k)
	}
	if t.Failed() {
		t.Log(&all)
	}
}
