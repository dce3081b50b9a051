package lower

import (
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// A val is a Go value, represented by its leaves in order. A large array is represented by the
// location it is copied from.
type val struct {
	typ    types.Type
	leaves []leaf
	from   *loc // for a large value: its location
	zero   bool // whether this is the zero value of a large type
}

// A loc is the location of a variable or of a part of one.
type loc struct {
	typ  types.Type
	v    *variable // nil if the location is in memory and not part of a local variable
	off  int       // index of the first leaf
	ptr  *ir.Value // address in memory, if v is nil
	disp int64     // offset relative to ptr
	vec  bool      // the array was converted from a slice, so vector accesses are allowed
	bits bool      // this is the only field of a 16-bit floating-point number of type half
	half types.Type
	none bool // the blank identifier
}

func (v val) one() leaf { return v.leaves[0] }

// scalar returns the register of a value that has a single leaf.
func (b *builder) scalar(v val) *ir.Value {
	if len(v.leaves) != 1 {
		return b.undef(ir.TI64) // an error has been reported
	}
	return b.value(v.leaves[0])
}

func single(t types.Type, x leaf) val { return val{typ: t, leaves: []leaf{x}} }

// value returns a register that contains the leaf.
func (b *builder) value(x leaf) *ir.Value {
	switch x := x.(type) {
	case *ir.Value:
		return b.resolve(x)
	case place:
		if !x.v.mem {
			b.demote(x.v)
			return b.undef(ir.TPtr)
		}
		return b.ptrAdd(b.slot(x.v), b.int(x.v.lay.offsetOf(x.off)))
	case constString:
		if x == "" {
			return b.null()
		}
		return b.global(b.l.stringVar(string(x)))
	case dead:
		return b.undef(ir.TPtr)
	}
	b.l.errorf(b.l.now, "func-known")
	return b.undef(ir.TPtr)
}

// demote requests another attempt to lower the function, in which the variable has a slot.
func (b *builder) demote(v *variable) {
	if v.lay.static() {
		b.l.errorf(b.l.now, "func-in-memory")
		return
	}
	b.l.retry(v.id, b.l.inMemory)
}

// load reads a location.
func (b *builder) load(x loc) val {
	lay := b.l.layout(x.typ)
	if x.none {
		return b.zeroOf(x.typ)
	}
	if x.bits {
		x.bits = false
		t := x.typ
		x.typ = x.half
		return single(t, b.op(ir.OpBitcast, ir.TI32, b.scalar(b.load(x))))
	}
	if lay.big() {
		return val{typ: x.typ, from: &x}
	}
	r := val{typ: x.typ, leaves: make([]leaf, lay.leaves)}
	if x.v != nil && !x.v.mem {
		for i := range r.leaves {
			r.leaves[i] = b.read(x.v, x.off+i)
		}
		return r
	}
	if lay.leaves == 0 {
		return r
	}
	if lay.static() {
		b.l.errorf(b.l.now, "func-in-memory")
		return b.zeroOf(x.typ)
	}
	p, disp := b.address(x)
	if x.vec && b.loadVector(p, disp, lay, r.leaves) {
		return r
	}
	for i := range r.leaves {
		lt, off := lay.at(i)
		v := b.opAux(ir.OpLoad, lt.regType(), disp+off, p)
		v.Mem = lt.mem
		r.leaves[i] = v
	}
	return r
}

// address returns the address of a location in memory, as a base and an offset.
func (b *builder) address(x loc) (*ir.Value, int64) {
	if x.v == nil {
		return x.ptr, x.disp
	}
	if !x.v.mem {
		b.demote(x.v)
		return b.undef(ir.PtrTo(ir.Local)), 0
	}
	return b.slot(x.v), x.v.lay.offsetOf(x.off)
}

// store writes to a location.
func (b *builder) store(x loc, v val) {
	if x.none {
		return
	}
	lay := b.l.layout(x.typ)
	if x.bits {
		x.bits, x.typ = false, x.half
		b.store(x, single(x.typ, b.op(ir.OpBitcast, b.l.layout(x.typ).leaf.regType(), b.scalar(v))))
		return
	}
	if lay.big() {
		b.storeBig(x, v, lay)
		return
	}
	if len(v.leaves) != lay.leaves {
		return // an error has been reported
	}
	b.outlives(x, v)
	if x.v != nil && !x.v.mem {
		for i, leaf := range v.leaves {
			b.write(x.v, x.off+i, leaf)
		}
		return
	}
	if lay.leaves == 0 {
		return
	}
	if lay.static() {
		b.l.errorf(b.l.now, "func-in-memory")
		return
	}
	p, disp := b.address(x)
	if p.Type.Space == ir.Const {
		b.l.errorf(b.l.now, "assign-table")
		return
	}
	if x.vec && b.storeVector(p, disp, lay, v.leaves) {
		return
	}
	for i, leaf := range v.leaves {
		lt, off := lay.at(i)
		s := b.opAux(ir.OpStore, ir.TNone, disp+off, p, b.value(leaf))
		s.Mem = lt.mem
	}
}

// outlives reports an error if v contains the address of a variable and x outlives that variable:
// the address would still be there in a later iteration of a loop that declares the variable anew,
// or after the thread has ended.
func (b *builder) outlives(x loc, v val) {
	for _, leaf := range v.leaves {
		var declared *loop
		switch leaf := leaf.(type) {
		case place:
			declared = leaf.v.loop
		case *ir.Value:
			h, ok := b.home[leaf]
			if !ok {
				continue
			}
			declared = h
		default:
			continue
		}
		var at *loop
		switch {
		case x.v != nil:
			at = x.v.loop
		case b.home[x.ptr] != nil:
			at = b.home[x.ptr]
		case x.ptr.Type.Space == ir.Global || x.ptr.Type.Space == ir.Shared:
			b.l.errorf(b.l.now, "local-escapes")
			return
		}
		if !at.in(declared) {
			b.l.errorf(b.l.now, "local-outlives")
			return
		}
	}
}

// vectorShape returns the number and type of the elements if the array can be accessed as a vector
// of up to 16 bytes. Otherwise the number is 0.
func vectorShape(lay *layout) (int, ir.Mem) {
	if lay.elem == nil || lay.elem.leaf == nil || lay.n != 2 && lay.n != 4 {
		return 0, 0
	}
	m := lay.elem.leaf.mem
	if m.Size() < 2 || m == ir.MPtr || lay.size > 16 {
		return 0, 0
	}
	return int(lay.n), m
}

func (b *builder) loadVector(p *ir.Value, disp int64, lay *layout, leaves []leaf) bool {
	n, m := vectorShape(lay)
	if n == 0 {
		return false
	}
	b.aligned(p, lay.size)
	v := b.opAux(ir.OpLoadV, ir.TTuple, disp, p)
	v.Mem, v.N = m, n
	for range n {
		v.Tuple = append(v.Tuple, m.Type())
	}
	for i := range leaves {
		leaves[i] = b.opAux(ir.OpExtract, m.Type(), int64(i), v)
	}
	return true
}

func (b *builder) storeVector(p *ir.Value, disp int64, lay *layout, leaves []leaf) bool {
	n, m := vectorShape(lay)
	if n == 0 {
		return false
	}
	b.aligned(p, lay.size)
	args := []*ir.Value{p}
	for _, x := range leaves {
		args = append(args, b.value(x))
	}
	v := b.opAux(ir.OpStoreV, ir.TNone, disp, args...)
	v.Mem, v.N = m, n
	return true
}

// aligned emits a check that an address is aligned, unless nobounds excludes it.
func (b *builder) aligned(p *ir.Value, size int64) {
	if b.trusted[p] {
		return
	}
	a := b.op(ir.OpBitcast, ir.TI64, p)
	ok := b.cmp(ir.Eq, b.and(a, b.int(size-1)), b.int(0))
	b.check("align", "the slice is not aligned for a vector access", ok, a, b.int(size))
}

// part returns the part of a location that starts at the given leaf and offset.
func (x loc) part(t types.Type, leaf int, offset int64) loc {
	x.typ, x.vec = t, false
	if x.v != nil {
		x.off += leaf
	} else {
		x.disp += offset
	}
	return x
}

// component returns a part of a value.
func (b *builder) component(v val, t types.Type, leaf int, offset int64) val {
	lay := b.l.layout(t)
	switch {
	case v.from != nil:
		return b.load(v.from.part(t, leaf, offset))
	case v.zero:
		return b.zeroOf(t)
	case leaf+lay.leaves > len(v.leaves):
		return b.zeroOf(t) // an error has been reported
	}
	return val{typ: t, leaves: v.leaves[leaf : leaf+lay.leaves]}
}

// zeroOf returns the zero value of a type.
func (b *builder) zeroOf(t types.Type) val {
	lay := b.l.layout(t)
	if lay.big() {
		return val{typ: t, zero: true}
	}
	v := val{typ: t, leaves: make([]leaf, lay.leaves)}
	for i := range v.leaves {
		lt, _ := lay.at(i)
		v.leaves[i] = b.zeroLeaf(lt)
	}
	return v
}

func (b *builder) zeroLeaf(lt *leafType) leaf {
	switch lt.kind {
	case function, iface:
		return nilLeaf{}
	case text:
		return constString("")
	}
	return b.zero(lt.regType())
}
