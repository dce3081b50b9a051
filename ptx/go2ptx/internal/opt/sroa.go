package opt

import (
	"cmp"
	"maps"
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// cell is a part of a slot that is always read and written as a whole.
type cell struct {
	slot, offset int64
	mem          ir.Mem
}

// promoteSlots replaces cells of slots with SSA values. It leaves slots alone whose address is used
// for anything other than accesses at constant offsets, and cells that overlap.
func promoteSlots(f *ir.Func) int {
	if len(f.Slots) == 0 {
		return 0
	}
	p := &promoter{f: f, bad: make([]bool, len(f.Slots)), cells: map[cell]bool{}, ends: map[at]*ir.Value{}, starts: map[at]*ir.Value{}, to: forward{}}
	p.find()
	p.dropOverlaps()
	if len(p.cells) == 0 {
		return 0
	}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if c, ok := p.access(v); ok && v.Op == ir.OpStore && p.cells[c] {
				p.ends[at{c, b}] = v.Args[1]
			}
		}
	}
	n := 0
	for _, b := range f.ReversePostorder() {
		n += p.block(b)
	}
	p.to.apply(f)
	return n
}

// at identifies a cell at the start or at the end of a block.
type at struct {
	c cell
	b *ir.Block
}

type promoter struct {
	f            *ir.Func
	bad          []bool
	cells        map[cell]bool
	ends, starts map[at]*ir.Value
	to           forward
}

// access returns the cell that a load or store accesses.
func (p *promoter) access(v *ir.Value) (cell, bool) {
	if v.Op != ir.OpLoad && v.Op != ir.OpStore || v.Hint == ir.HintVolatile {
		return cell{}, false
	}
	slot, offset, ok := slotAddress(v.Args[0])
	return cell{slot, offset + v.Aux, v.Mem}, ok
}

func slotAddress(v *ir.Value) (slot, offset int64, ok bool) {
	for v.Op == ir.OpPtrAdd && isConst(v.Args[1]) {
		offset += v.Args[1].Aux
		v = v.Args[0]
	}
	return v.Aux, offset, v.Op == ir.OpSlot
}

// find collects the cells and marks slots whose addresses escape.
func (p *promoter) find() {
	for _, b := range p.f.Blocks {
		for _, v := range b.Values {
			args := v.Args
			if c, ok := p.access(v); ok {
				p.cells[c] = true
				args = args[1:]
			} else if _, _, ok := slotAddress(v); ok {
				continue
			}
			p.escape(args)
		}
		p.escape(b.Term.Results)
	}
}

func (p *promoter) escape(values []*ir.Value) {
	for _, a := range values {
		if o := object(a); o != nil && o.Op == ir.OpSlot {
			p.bad[o.Aux] = true
		}
	}
}

// dropOverlaps removes cells of marked slots and cells that overlap others.
func (p *promoter) dropOverlaps() {
	list := slices.SortedFunc(maps.Keys(p.cells), func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.offset, b.offset), cmp.Compare(a.mem, b.mem))
	})
	end := int64(0) // end of the preceding cells in the same slot
	for i, c := range list {
		if i == 0 || list[i-1].slot != c.slot {
			end = 0
		}
		last := c.offset + int64(c.mem.Size())
		next := i+1 < len(list) && list[i+1].slot == c.slot && list[i+1].offset < last
		if p.bad[c.slot] || c.offset < 0 || last > int64(p.f.Slots[c.slot].Size) || c.offset < end || next {
			delete(p.cells, c)
		}
		end = max(end, last)
	}
}

func (p *promoter) block(b *ir.Block) int {
	n := 0
	now := map[cell]*ir.Value{}
	values := b.Values
	for i := 0; i < len(values); i++ {
		v := values[i]
		c, ok := p.access(v)
		if !ok || !p.cells[c] {
			continue
		}
		n++
		if v.Op == ir.OpStore {
			now[c] = v.Args[1]
			p.to[v] = v.Args[1]
			continue
		}
		x := now[c]
		if x == nil {
			x = p.start(at{c, b})
		}
		p.to[v] = p.extended(v, x)
	}
	return n
}

// extended returns the value that a load of the cell returns after a store of x.
func (p *promoter) extended(load, x *ir.Value) *ir.Value {
	op := map[ir.Mem]ir.Op{ir.MS8: ir.OpSExt8, ir.MU8: ir.OpZExt8, ir.MS16: ir.OpSExt16, ir.MU16: ir.OpZExt16}[load.Mem]
	if op == ir.Invalid {
		return x
	}
	// Insert the extension at the position of the load.
	e := p.f.NewValue(op, ir.TI32, x)
	e.Pos, e.Block = load.Pos, load.Block
	for i, v := range load.Block.Values {
		if v == load {
			load.Block.Values = append(load.Block.Values[:i+1:i+1], append([]*ir.Value{e}, load.Block.Values[i+1:]...)...)
			break
		}
	}
	return e
}

// start returns the value of a cell at the start of a block.
func (p *promoter) start(a at) *ir.Value {
	if v := p.starts[a]; v != nil {
		return v
	}
	var v *ir.Value
	switch len(a.b.Preds) {
	case 0:
		v = p.f.NewValue(ir.OpUndef, a.c.mem.Type())
	case 1:
		v = p.end(at{a.c, a.b.Preds[0]})
	default:
		v = p.f.NewValue(ir.OpPhi, a.c.mem.Type())
		p.starts[a] = a.b.Prepend(v)
		for _, b := range a.b.Preds {
			v.Args = append(v.Args, p.end(at{a.c, b}))
		}
	}
	p.starts[a] = v
	return v
}

func (p *promoter) end(a at) *ir.Value {
	if v := p.ends[a]; v != nil {
		return v
	}
	return p.start(a)
}
