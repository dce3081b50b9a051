package vm

import (
	"encoding/binary"

	"github.com/purecuda/cuda/ptx"
)

// initialise runs the initialisers of all variables.
func (c *compiler) initialise() {
	for _, s := range c.sources {
		for _, sym := range s.syms {
			if sym.v == nil || sym.v.Init == nil || sym.addr == 0 {
				continue
			}
			b, err := c.opts.Memory.Bytes(sym.addr, sizeOf(sym.v))
			if err != nil {
				c.fail(s, sym.v.Pos, CompileMemory, "variable %s: %v", sym.name, err)
				continue
			}
			c.initVariable(s, sym.v, b)
		}
	}
}

func (c *compiler) initVariable(s *source, v *ptx.Variable, b []byte) {
	elem := v.Type.Size()
	dims := make([]int, 0, len(v.Dims)+1)
	for _, d := range v.Dims {
		if d == ptx.Unsized {
			d = int64(unsizedLen(v))
		}
		dims = append(dims, int(d))
	}
	if v.Vector > 1 {
		dims = append(dims, v.Vector)
	}
	c.initPart(s, v, v.Init, dims, elem, b)
}

// initPart fills b, an array of the given dimensions, from one initialiser.
func (c *compiler) initPart(s *source, v *ptx.Variable, in *ptx.Init, dims []int, elem int, b []byte) {
	if !in.List {
		if len(b) < elem {
			c.fail(s, in.Pos, CompileInvalid, "initialiser of %s has too many elements", v.Name)
			return
		}
		c.initValue(s, v, in, b[:elem])
		return
	}
	step := elem
	inner := dims
	if len(dims) > 0 {
		inner = dims[1:]
		for _, d := range inner {
			step *= d
		}
	}
	// A flat list may fill an array of several dimensions.
	if len(in.Elems) > 0 && !in.Elems[0].List && len(inner) > 0 {
		step, inner = elem, nil
	}
	for i := range in.Elems {
		if (i+1)*step > len(b) {
			c.fail(s, in.Elems[i].Pos, CompileInvalid, "initialiser of %s has too many elements", v.Name)
			return
		}
		c.initPart(s, v, &in.Elems[i], inner, elem, b[i*step:(i+1)*step])
	}
}

func (c *compiler) initValue(s *source, v *ptx.Variable, in *ptx.Init, b []byte) {
	var x uint64
	switch o := in.Value.(type) {
	case *ptx.Imm:
		x = immBits(o, v.Type)
	case *ptx.Sym:
		a, ok := c.symbolAddr(s, o)
		if !ok {
			c.fail(s, o.Pos, CompileUnresolved, "initialiser of %s: %s has no address here", v.Name, o.Name)
			return
		}
		x = a + uint64(o.Offset)
		if o.Mask != 0 {
			x = maskByte(x, o.Mask)
		}
	default:
		c.fail(s, in.Pos, CompileUnsupported, "initialiser of %s is not a constant", v.Name)
		return
	}
	var w [16]byte
	binary.LittleEndian.PutUint64(w[:], x)
	copy(b, w[:])
}

// maskByte returns the byte of x that a mask such as 0xff00 selects.
func maskByte(x, mask uint64) uint64 {
	x &= mask
	for mask&0xff == 0 && mask != 0 {
		x, mask = x>>8, mask>>8
	}
	return x
}

// symbolAddr returns the address of a global, a constant or a function.
func (c *compiler) symbolAddr(s *source, o *ptx.Sym) (uint64, bool) {
	sym := c.lookup(s, o.Name)
	switch {
	case sym == nil:
		return 0, false
	case sym.fn != nil:
		return functionAddr(sym.id), true
	case sym.addr != 0:
		return sym.addr, true
	}
	return 0, false
}
