package emit_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// loop is a loop whose counter i goes from 0 to n, which each thread loads from its first word.
type loop struct {
	*irtest.Builder
	i              *ir.Value
	head, body, to *ir.Block
	phis           []*ir.Value
}

func loopOf(b *irtest.Builder, p *ir.Value) *loop {
	l := &loop{Builder: b, head: b.Block(), body: b.Block(), to: b.Block()}
	n := b.Load(ir.M64, p, 0)
	b.B.Jump(l.head)
	b.Set(l.head)
	l.i = l.phi(ir.TI64, b.I64(0))
	b.B.If(b.Cmp(ir.SLt, l.i, n), l.body, l.to)
	b.Set(l.body)
	return l
}

// phi adds a phi to the loop. end sets its value after an iteration.
func (l *loop) phi(t ir.Type, first *ir.Value) *ir.Value {
	v := l.Phi(l.head, t, first)
	l.phis = append(l.phis, v)
	return v
}

func (l *loop) end(next ...*ir.Value) {
	next = append([]*ir.Value{l.Op(ir.OpAdd, ir.TI64, l.i, l.I64(1))}, next...)
	for k, v := range l.phis {
		v.Args = append(v.Args, next[k])
	}
	l.B.Jump(l.head)
	l.Set(l.to)
}

// copies returns the number of moves between registers in the PTX.
func copies(t *testing.T, m *ir.Module) (n int) {
	for line := range strings.Lines(string(text(t, m, emit.Options{}))) {
		if f := strings.Fields(line); len(f) == 3 && strings.HasPrefix(f[0], "mov.b") && strings.HasPrefix(f[2], "%r") {
			n++
		}
	}
	return n
}

func TestSumsNeedNoCopies(t *testing.T) {
	m := &ir.Module{}
	b, p := perThread(m, 4)
	x, y := b.Load(ir.M64, p, 8), b.Op(ir.OpBitcast, ir.TF32, b.Load(ir.M32, p, 16))
	l := loopOf(b, p)
	sum, f := l.phi(ir.TI64, x), l.phi(ir.TF32, y)
	l.end(b.Op(ir.OpAdd, ir.TI64, sum, l.i), b.Op(ir.OpFAdd, ir.TF32, f, f))
	b.Store(ir.M64, p, 8, sum)
	b.Store(ir.MF32, p, 16, f)
	b.B.Ret()
	if n := copies(t, m); n != 0 {
		t.Errorf("%d copies:\n%s", n, text(t, m, emit.Options{}))
	}
	expect(t, m, 2, []uint64{3, 10, 0x3f800000, 0, 0, 5, 6, 0}, []uint64{3, 13, 0x41000000, 0, 0, 5, 6, 0})
}

// Inline PTX with one instruction, a rotation and a logical operation on three operands read these before they write the
// result.
func TestInstructionsThatReadFirstNeedNoCopies(t *testing.T) {
	m := &ir.Module{}
	b, p := perThread(m, 4)
	l := loopOf(b, p)
	x, y, z := l.phi(ir.TI64, b.I64(5)), l.phi(ir.TI32, b.I32(1)), l.phi(ir.TI32, b.I32(0x50))
	xor := b.Op(ir.OpLop3, ir.TI32, z, b.Op(ir.OpTrunc, ir.TI32, l.i), b.I32(0x100))
	xor.Aux = 0x96
	l.end(b.Asm("max.s64 $0, %0, %1;", 0, ir.TI64, x, l.i), b.Op(ir.OpFunnel, ir.TI32, y, y, b.I32(9)), xor)
	b.Store(ir.M64, p, 8, x)
	b.Store(ir.M32, p, 16, y)
	b.Store(ir.M32, p, 24, z)
	b.B.Ret()
	if n := copies(t, m); n != 0 {
		t.Errorf("%d copies:\n%s", n, text(t, m, emit.Options{}))
	}
	expect(t, m, 2, []uint64{4, 0, 0, 0, 8, 0, 0, 0}, []uint64{4, 5, 16, 0x50, 8, 7, 256, 0x50})
}

// A logical operation with equal operands can be several instructions. Only the last one writes the result, which can have
// the register of an operand.
func TestLogicalOperationsWithEqualOperandsInLoops(t *testing.T) {
	// The first and the last operand are equal, so four bits of the table matter.
	for k := range int64(16) {
		table := k&1 | k&2<<1 | k&4<<3 | k&8<<4
		m := &ir.Module{}
		b, p := perThread(m, 2)
		l := loopOf(b, p)
		z := l.phi(ir.TI32, b.I32(0x50))
		next := b.Op(ir.OpLop3, ir.TI32, z, b.Op(ir.OpTrunc, ir.TI32, l.i), z)
		next.Aux = table
		l.end(next)
		b.Store(ir.M32, p, 8, z)
		b.B.Ret()
		v := uint32(0x50)
		for i := range uint32(2) {
			last := v
			v = 0
			for bit := range 32 {
				p, q := last>>bit&1, i>>bit&1
				v |= uint32(table>>(4*p+2*q+p)&1) << bit
			}
		}
		expect(t, m, 1, []uint64{2, 0}, []uint64{2, uint64(v)})
	}
}

// Each of these values is still needed when the phi gets its next value.
func TestValuesThatAreReadLaterKeepTheirRegisters(t *testing.T) {
	for name, body := range map[string]func(b *irtest.Builder, l *loop, x *ir.Value) (next, also *ir.Value){
		"in the block": func(b *irtest.Builder, l *loop, x *ir.Value) (next, also *ir.Value) {
			next = b.Op(ir.OpAdd, ir.TI64, x, b.I64(1))
			return next, b.Op(ir.OpMul, ir.TI64, x, next)
		},
		"in a later block": func(b *irtest.Builder, l *loop, x *ir.Value) (next, also *ir.Value) {
			next = b.Op(ir.OpAdd, ir.TI64, x, b.I64(1))
			later := b.Block()
			b.B.Jump(later)
			b.Set(later)
			return next, b.Op(ir.OpMul, ir.TI64, x, next)
		},
		// The first instruction writes the result, and the second one reads the operand.
		"by code that writes first": func(b *irtest.Builder, l *loop, x *ir.Value) (next, also *ir.Value) {
			swap := b.Op(ir.OpAsm, ir.TI64, x)
			swap.Sym = "mov.b64 $0, 7; add.s64 $0, $0, %0;"
			return swap, b.I64(1)
		},
		"by another phi": func(b *irtest.Builder, l *loop, x *ir.Value) (next, also *ir.Value) {
			return l.phis[2], x
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &ir.Module{}
			b, p := perThread(m, 4)
			l := loopOf(b, p)
			x, y := l.phi(ir.TI64, b.I64(2)), l.phi(ir.TI64, b.I64(3))
			l.end(body(b, l, x))
			b.Store(ir.M64, p, 8, x)
			b.Store(ir.M64, p, 16, y)
			b.B.Ret()
			want := map[string][]uint64{
				"in the block": {3, 5, 20, 0}, "in a later block": {3, 5, 20, 0}, "by code that writes first": {3, 23, 1, 0}, "by another phi": {3, 3, 2, 0},
			}[name]
			expect(t, m, 1, []uint64{3, 0, 0, 0}, want)
		})
	}
}

// The loop keeps the previous element of a vector.
func TestElementsOfVectorsShareRegisters(t *testing.T) {
	m := &ir.Module{}
	b, p := perThread(m, 4)
	l := loopOf(b, p)
	x, y := l.phi(ir.TI64, b.I64(0)), l.phi(ir.TI64, b.I64(0))
	v := b.Op(ir.OpLoadV, ir.TTuple, p)
	v.Mem, v.N, v.Aux, v.Tuple = ir.M64, 2, 16, []ir.Type{ir.TI64, ir.TI64}
	l.end(b.Extract(v, 1), b.Extract(v, 0))
	b.Store(ir.M64, p, 0, x)
	b.Store(ir.M64, p, 8, y)
	b.B.Ret()
	if n := copies(t, m); n != 0 {
		t.Errorf("%d copies:\n%s", n, text(t, m, emit.Options{}))
	}
	expect(t, m, 1, []uint64{2, 0, 11, 12}, []uint64{12, 11, 11, 12})
}
