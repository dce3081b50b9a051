// Package irtest supports tests of compiler passes. It builds functions in the intermediate
// representation and interprets them.
package irtest

import "github.com/purecuda/cuda/ptx/go2ptx/internal/ir"

// Builder appends instructions to its current block.
type Builder struct {
	F *ir.Func
	B *ir.Block
}

// Kernel returns a builder for a new kernel. Each parameter is a scalar or, for MPtr, a pointer to
// global memory.
func Kernel(m *ir.Module, name string, params ...ir.Mem) *Builder {
	b := Func(m, name, params...)
	b.F.Kernel = true
	for i := range b.F.Params {
		if p := &b.F.Params[i].Parts[0]; p.Mem == ir.MPtr {
			p.Space = ir.Global
		}
	}
	return b
}

// Func returns a builder for a new device function.
func Func(m *ir.Module, name string, params ...ir.Mem) *Builder {
	f := m.NewFunc(name)
	f.GoName = name
	for i, p := range params {
		f.Params = append(f.Params, ir.Param{Name: string(rune('a' + i)), Size: p.Size(), Align: p.Size(), Parts: []ir.Part{{Mem: p}}})
	}
	return &Builder{f, f.NewBlock()}
}

// Block adds a block. Use Set to make it the current block.
func (b *Builder) Block() *ir.Block { return b.F.NewBlock() }

// Set makes the given block the current one.
func (b *Builder) Set(to *ir.Block) { b.B = to }

// Op appends an instruction.
func (b *Builder) Op(op ir.Op, t ir.Type, args ...*ir.Value) *ir.Value {
	return b.B.Append(b.F.NewValue(op, t, args...))
}

// Aux appends an instruction with the given Aux.
func (b *Builder) Aux(op ir.Op, t ir.Type, aux int64, args ...*ir.Value) *ir.Value {
	v := b.Op(op, t, args...)
	v.Aux = aux
	return v
}

// Param appends an OpParam that reads part i.
func (b *Builder) Param(i int) *ir.Value { return b.Aux(ir.OpParam, b.F.Part(i).Type(), int64(i)) }

// I32 returns a constant.
func (b *Builder) I32(v int32) *ir.Value { return b.F.Const(ir.TI32, int64(v)) }

// I64 returns a constant.
func (b *Builder) I64(v int64) *ir.Value { return b.F.Const(ir.TI64, v) }

// Bool returns a constant.
func (b *Builder) Bool(v bool) *ir.Value {
	if v {
		return b.F.Const(ir.TBool, 1)
	}
	return b.F.Const(ir.TBool, 0)
}

// Special reads a special register whose value is constant for the thread.
func (b *Builder) Special(name string, t ir.Type) *ir.Value {
	v := b.Aux(ir.OpSpecial, t, 1)
	v.Sym = name
	return v
}

// Load appends a load.
func (b *Builder) Load(m ir.Mem, p *ir.Value, offset int64) *ir.Value {
	v := b.Aux(ir.OpLoad, m.Type(), offset, p)
	v.Mem = m
	return v
}

// Store appends a store.
func (b *Builder) Store(m ir.Mem, p *ir.Value, offset int64, x *ir.Value) *ir.Value {
	v := b.Aux(ir.OpStore, ir.TNone, offset, p, x)
	v.Mem = m
	return v
}

// Index returns the address of element i of an array at p with elements of the given size.
func (b *Builder) Index(p, i *ir.Value, size int64) *ir.Value {
	return b.Op(ir.OpPtrAdd, p.Type, p, b.Op(ir.OpMul, ir.TI64, i, b.I64(size)))
}

// Cmp appends a comparison.
func (b *Builder) Cmp(c ir.Cond, x, y *ir.Value) *ir.Value {
	op := ir.OpICmp
	if x.Type.Kind.IsFloat() {
		op = ir.OpFCmp
	}
	return b.Aux(op, ir.TBool, int64(c), x, y)
}

// Check appends a check.
func (b *Builder) Check(kind string, cond *ir.Value, values ...*ir.Value) *ir.Value {
	v := b.Op(ir.OpCheck, ir.TNone, append([]*ir.Value{cond}, values...)...)
	v.Site = &ir.Site{Kind: kind}
	return v
}

// Phi adds a phi to block to. Its operands may be set later.
func (b *Builder) Phi(to *ir.Block, t ir.Type, args ...*ir.Value) *ir.Value {
	v := b.F.NewValue(ir.OpPhi, t, args...)
	v.Block = to
	n := 0
	for n < len(to.Values) && to.Values[n].Op == ir.OpPhi {
		n++
	}
	to.Values = append(to.Values[:n], append([]*ir.Value{v}, to.Values[n:]...)...)
	return v
}

// Asm appends inline PTX.
func (b *Builder) Asm(text string, e ir.Effect, t ir.Type, args ...*ir.Value) *ir.Value {
	v := b.Op(ir.OpAsm, t, args...)
	v.Sym, v.Effect = text, e
	return v
}

// Extract returns result i of a tuple.
func (b *Builder) Extract(v *ir.Value, i int) *ir.Value {
	return b.Aux(ir.OpExtract, v.Tuple[i], int64(i), v)
}
