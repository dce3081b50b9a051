package emit_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// A vector is loaded, its elements are stored one by one, and the reversed vector is stored. Vectors
// with a condition are also accessed where they are not aligned.
func TestVectors(t *testing.T) {
	for _, m := range []ir.Mem{ir.MS8, ir.MU8, ir.MS16, ir.MU16, ir.MF16, ir.MBF16, ir.M32, ir.MF32, ir.M64, ir.MF64} {
		for n := 2; n*m.Size() <= 16; n *= 2 {
			for shift := -1; shift < 2; shift++ { // -1: there is no condition
				t.Run(fmt.Sprintf("%sx%d/%d", m, n, shift), func(t *testing.T) { testVector(t, m, n, int64(shift)) })
			}
		}
	}
}

func testVector(t *testing.T, m ir.Mem, n int, shift int64) {
	const words = 64
	mod := &ir.Module{}
	b := irtest.Kernel(mod, "k", ir.MPtr)
	p := b.Param(0)
	var cond []*ir.Value
	if shift >= 0 {
		cond = []*ir.Value{b.Cmp(ir.Eq, b.Load(ir.M64, p, 0), b.I64(0))}
	}
	at := max(shift, 0) * int64(m.Size())
	v := b.Aux(ir.OpLoadV, ir.TTuple, 16+at, append([]*ir.Value{p}, cond...)...)
	v.Mem, v.N = m, n
	for range n {
		v.Tuple = append(v.Tuple, m.Type())
	}
	var list []*ir.Value
	for i := range n {
		list = append(list, b.Extract(v, i))
	}
	wide := m
	if m.Type() == ir.TI32 {
		wide = ir.M32 // shows whether the elements are extended
	}
	reversed := []*ir.Value{p}
	for i := range n {
		b.Store(wide, p, 128+8*int64(i), list[i])
		reversed = append(reversed, list[n-1-i])
	}
	s := b.Aux(ir.OpStoreV, ir.TNone, 64+at, append(reversed, cond...)...)
	s.Mem, s.N = m, n
	b.B.Ret()
	if err := mod.Verify(); err != nil {
		t.Fatal(err)
	}

	in := make([]uint64, words)
	for i := range in {
		in[i] = 0x9281f47c_0d6e83a5 * uint64(i)
	}
	in[0] = uint64(max(shift, 0))
	x := irtest.New(mod)
	base := x.Alloc(8 * words)
	for i, w := range in {
		binary.LittleEndian.PutUint64(x.Memory[base+8*int64(i):], w)
	}
	if _, err := x.Call(mod.Funcs[0], []int64{base}); err != nil {
		t.Fatal(err)
	}
	want := make([]uint64, words)
	for i := range want {
		want[i] = binary.LittleEndian.Uint64(x.Memory[base+8*int64(i):])
	}
	expect(t, mod, 1, in, want)
}
