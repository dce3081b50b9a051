package go2ptx_test

import (
	"fmt"
	"slices"
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

// The compiler must not check a pointer to a variable for nil, regardless of the kind of variable.
// It must check pointers from the host.
func TestPointersToVariablesAreNotChecked(t *testing.T) {
	const text = `package p

import "github.com/purecuda/cuda/ptx/gpu"

type pair struct{ n, m int32 }

var total gpu.Global[pair]

//gpu:kernel block=32
func k(t gpu.Thread, x []int32, p *pair) {
	s, other := gpu.Shared[pair](t), gpu.Shared[pair](t)
	tile := gpu.Shared[[32]int32](t)
	for n := 16; n > 0; n /= 2 {
		tile[t.ThreadX()] += int32(n)
		s.n++
		t.Sync()
	}
	if len(x) > 3 {
		s = other
	}
	s.m++
	for range x {
		s, other = other, s
	}
	s.n = tile[3]
	g := total.Ptr()
	for range x {
		g.n++
	}
	var local [4]pair
	l := &local[t.ThreadX()&3]
	if len(x) > 5 {
		l = &local[len(x)&3]
	}
	l.n = 5
	x[0] = local[len(x)&1].n
	if s != nil {
		x[1] = 5
	}
	dynamic := &gpu.DynamicShared[pair](t)[t.ThreadX()]
	for range x {
		dynamic.n++
	}
	for range x {
		p.n++
	}
}
`
	out, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{Path: "p", Files: []go2ptx.File{{Name: "p.go", Data: []byte(text)}}}})
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, r := range out.Remarks {
		if strings.Contains(r.Text, "nil check") {
			lines = append(lines, r.Pos.Line)
		}
	}
	if parameter := strings.Count(text[:strings.Index(text, "p.n++")], "\n") + 1; !slices.Equal(lines, []int{parameter}) {
		t.Errorf("pointers are checked in lines %d, want only line %d", lines, parameter)
	}
}
