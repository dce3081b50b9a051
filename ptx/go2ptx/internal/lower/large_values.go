package lower

import (
	"go/token"
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// storeBig copies a large value to memory, or clears the memory if the value is zero.
func (b *builder) storeBig(x loc, v val, lay *layout) {
	if v.from == nil && !v.zero {
		return // an error has been reported
	}
	p, disp := b.address(x)
	if p.Type.Space == ir.Const {
		b.l.errorf(b.l.now, "assign-table")
		return
	}
	dst := b.ptrAdd(p, b.int(disp))
	m := copyUnit(lay)
	if v.zero {
		b.repeat(lay.size/int64(m.Size()), func(i *ir.Value) {
			b.storeMem(m, b.ptrAdd(dst, b.mul(i, b.int(int64(m.Size())))), b.zero(m.Type()))
		})
		return
	}
	q, from := b.address(*v.from)
	src := b.ptrAdd(q, b.int(from))
	b.repeat(lay.size/int64(m.Size()), func(i *ir.Value) {
		off := b.mul(i, b.int(int64(m.Size())))
		b.storeMem(m, b.ptrAdd(dst, off), b.loadMem(m, b.ptrAdd(src, off)))
	})
}

// copyUnit returns the widest integer type that the alignment of a value permits.
func copyUnit(lay *layout) ir.Mem {
	switch {
	case lay.align >= 8:
		return ir.M64
	case lay.align >= 4:
		return ir.M32
	case lay.align >= 2:
		return ir.MU16
	}
	return ir.MU8
}

func (b *builder) loadMem(m ir.Mem, p *ir.Value) *ir.Value {
	v := b.emit(ir.OpLoad, m.Type(), p)
	v.Mem = m
	return v
}

func (b *builder) storeMem(m ir.Mem, p, x *ir.Value) {
	v := b.emit(ir.OpStore, ir.TNone, p, x)
	v.Mem = m
}

// repeat emits a loop in which i takes the values from 0 to n-1.
func (b *builder) repeat(n int64, body func(i *ir.Value)) { b.repeatValue(b.int(n), body) }

func (b *builder) repeatValue(n *ir.Value, body func(i *ir.Value)) {
	head, do, end := b.newBlock(), b.newBlock(), b.newBlock()
	first := b.cur
	if b.dead {
		return
	}
	b.jump(head)
	b.start(head)
	i := b.f.NewValue(ir.OpPhi, ir.TI64)
	i.Pos = b.pos
	head.Append(i)
	b.branch(b.cmp(ir.ULt, i, n), do, end)
	b.enter(do)
	body(i)
	next := b.emit(ir.OpAdd, ir.TI64, i, b.int(1))
	b.jump(head)
	_ = first
	i.Args = []*ir.Value{b.int(0), next}
	b.seal(head)
	b.enter(end)
}

// snapshot copies a large value that may change before it is used.
func (f *frame) snapshot(v val, pos token.Pos) val {
	if v.from == nil {
		return v
	}
	x := f.newVar("copy", v.typ, pos, tagSnapshot)
	f.store(f.whole(x), v)
	return f.load(f.whole(x))
}

// copyElems copies n elements between slices that may overlap.
func (f *frame) copyElems(n *ir.Value, dst, src val, elem types.Type) {
	size := f.int(f.l.layout(elem).size)
	p, q := f.value(dst.leaves[0]), f.value(src.leaves[0])
	move := func(i *ir.Value) {
		off := f.mul(i, size)
		to, from := f.ptrAdd(p, off), f.ptrAdd(q, off)
		f.store(loc{typ: elem, ptr: to}, f.load(loc{typ: elem, ptr: from}))
	}
	up, down, end := f.newBlock(), f.newBlock(), f.newBlock()
	// If the destination starts within the source, copy from the last element to the first.
	f.branch(f.cmp(ir.UGt, p, q), down, up)
	f.enter(up)
	f.repeatValue(n, move)
	f.jump(end)
	f.enter(down)
	f.repeatValue(n, func(i *ir.Value) { move(f.sub(f.sub(n, i), f.int(1))) })
	f.jump(end)
	f.enter(end)
}
