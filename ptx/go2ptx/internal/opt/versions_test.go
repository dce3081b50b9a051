package opt_test

import (
	"fmt"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/opt"
)

// fourWords builds a kernel that loads four words at p, changes them n times in a loop, and stores them twice at q, the
// second time only if n is positive. It also has the given number of stores of single words.
func fourWords(m *ir.Module, stores int) *ir.Func {
	b := irtest.Kernel(m, "k", ir.MPtr, ir.MPtr, ir.M32)
	p, q, n := b.Param(0), b.Param(1), b.Param(2)
	head, body, end, more, last := b.Block(), b.Block(), b.Block(), b.Block(), b.Block()
	var x, y []*ir.Value
	for k := range int64(4) {
		x = append(x, b.Load(ir.M32, p, 4*k))
	}
	for k := range int64(stores) {
		b.Store(ir.M32, p, 1000+64*k, n)
	}
	b.B.Jump(head)
	b.Set(head)
	i := b.Phi(head, ir.TI32)
	for range x {
		y = append(y, b.Phi(head, ir.TI32))
	}
	b.B.If(b.Cmp(ir.SLt, i, n), body, end)
	b.Set(body)
	for k := range x {
		y[k].Args = []*ir.Value{x[k], b.Op(ir.OpAdd, ir.TI32, b.Op(ir.OpMul, ir.TI32, y[k], b.I32(3)), y[(k+1)%4])}
	}
	i.Args = []*ir.Value{b.I32(0), b.Op(ir.OpAdd, ir.TI32, i, b.I32(1))}
	b.B.Jump(head)
	b.Set(end)
	for k := range x {
		b.Store(ir.M32, q, 4*int64(k), y[k])
	}
	b.B.If(b.Cmp(ir.SGt, n, b.I32(0)), more, last)
	b.Set(more)
	for k := range x {
		b.Store(ir.M32, q, 32+4*int64(k), y[3-k])
	}
	b.B.Jump(last)
	b.Set(last)
	b.B.Ret()
	return b.F
}

// A kernel with many vectors must have a version for aligned parameters that accesses only vectors, and one that
// accesses only elements.
func TestVersions(t *testing.T) {
	plain, m := &ir.Module{}, &ir.Module{}
	want, f := fourWords(plain, 0), fourWords(m, 0)
	if _, err := opt.Run(f, opt.Options{Verify: true}); err != nil {
		t.Fatal(err)
	}
	type kind struct {
		second bool
		op     ir.Op
		args   int
	}
	n := map[kind]int{}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if v.Effects()&(ir.Reads|ir.Writes) != 0 {
				n[kind{b.Second, v.Op, len(v.Args)}]++
			}
		}
	}
	if got, want := fmt.Sprint(n), fmt.Sprint(map[kind]int{
		{false, ir.OpLoadV, 1}: 1, {false, ir.OpStoreV, 5}: 2, {true, ir.OpLoad, 1}: 4, {true, ir.OpStore, 2}: 8,
	}); got != want {
		t.Errorf("the accesses are %s, want %s:\n%s", got, want, f)
	}
	for _, c := range []struct{ p, q, n int64 }{{0, 0, 3}, {0, 0, 0}, {4, 0, 2}, {0, 8, 5}, {12, 4, 1}, {8, 8, 0}} {
		if a, b := wordsAfter(t, plain, want, c.p, c.q, c.n), wordsAfter(t, m, f, c.p, c.q, c.n); a != b {
			t.Errorf("%v: %s, want %s\n%s", c, b, a, f)
		}
	}
}

func wordsAfter(t *testing.T, m *ir.Module, f *ir.Func, p, q, n int64) string {
	t.Helper()
	x := irtest.New(m)
	at := (x.Alloc(256+16) + 15) &^ 15
	for i := range int64(64) {
		x.Memory[at+i] = byte(7*i + i*i)
	}
	if _, err := x.Call(f, []int64{at + p, at + 128 + q, n}); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(x.Memory[at : at+256])
}

// Kernels with few vectors, and functions, have one version.
func TestOneVersion(t *testing.T) {
	few, function := fourWords(&ir.Module{}, 150), fourWords(&ir.Module{}, 0)
	function.Kernel = false
	for _, f := range []*ir.Func{few, function} {
		if _, err := opt.Run(f, opt.Options{Verify: true}); err != nil {
			t.Fatal(err)
		}
		for _, b := range f.Blocks {
			if b.Second {
				t.Fatalf("there are two versions:\n%s", f)
			}
		}
	}
}
