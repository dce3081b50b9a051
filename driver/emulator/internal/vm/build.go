package vm

import (
	"encoding/binary"

	"github.com/purecuda/cuda/ptx"
)

// A kernel's program contains the kernel and all functions that it may reach, because each kernel
// lays out shared memory differently. If many kernels share many functions, compiling all programs
// would take quadratic time. Loading therefore compiles programs only as long as the total work
// stays proportional to the length of the PTX. Each remaining program is compiled when it is first
// needed. For such a program, loading only checks those functions that have not been checked for
// another kernel.

// Loading lowers at most eagerTimes*n + eagerLeast statements for a module of n statements.
const (
	eagerTimes = 4
	eagerLeast = 1 << 14
)

func (c *compiler) measure() {
	for _, s := range c.sources {
		for _, d := range s.mod.Decls {
			switch d := d.(type) {
			case *ptx.Function:
				c.size++
				if d.Body != nil {
					c.size += statements(d.Body)
				}
			}
		}
		c.measureConstants(s)
	}
}

// mostConst is the maximum total size, in bytes, of the .const variables in a source.
const mostConst = 64 << 10

func (c *compiler) measureConstants(s *source) {
	size := uint64(0)
	for _, d := range s.mod.Decls {
		v, ok := d.(*ptx.Variable)
		if !ok || v.Space != ptx.ConstSpace || v.Linkage == ptx.Extern {
			continue
		}
		for range max(v.Count, 1) {
			size = roundUp(size, alignOf(v))
			if n := sizeOf(v); n > mostConst || size+n > mostConst {
				c.fail(s, v.Pos, CompileInvalid, "File uses too much global constant data (%#x bytes, %#x max)", max(size+n, n), mostConst)
				return
			}
			size += sizeOf(v)
		}
	}
	c.constBytes += int(size)
}

func statements(b *ptx.Block) int {
	n := len(b.Stmts)
	for _, s := range b.Stmts {
		if inner, ok := s.(*ptx.Block); ok {
			n += statements(inner)
		}
	}
	return n
}

// kernel compiles one entry. If the limit for loading has been exceeded, it only checks the entry,
// and the program is compiled when it is first needed.
func (c *compiler) kernel(s *source, f *ptx.Function) {
	k := &Kernel{name: f.Name, module: c.mod}
	k.describe(s, f)
	errs := len(c.errs)
	if c.lowered <= eagerTimes*c.size+eagerLeast {
		c.build(k, s, f, false)
	} else {
		c.build(nil, s, f, true)
		k.build = func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.build(k, s, f, false)
		}
	}
	if len(c.errs) != errs {
		return
	}
	c.mod.kernels[f.Name] = k
	c.mod.names = append(c.mod.names, f.Name)
}

// build compiles the program of k. If check is set, k must be nil, and build only looks for errors
// in functions that have not been checked yet.
func (c *compiler) build(k *Kernel, s *source, f *ptx.Function, check bool) {
	b := &builder{c: c, funcs: map[*symbol]*function{}, shared: map[*symbol]uint32{}, locs: map[string]int32{}, taken: map[*symbol]bool{}, dynAlign: 16, check: check}
	b.prog = &program{byID: map[int]*function{}}
	for _, src := range c.sources {
		b.prog.files = append(b.prog.files, src.mod.Name)
		b.prog.sources = append(b.prog.sources, src.mod.Source)
	}
	errs := len(c.errs)
	main := b.function(s, s.syms[f.Name])
	for len(b.queue) > 0 {
		sym := b.queue[0]
		b.queue = b.queue[1:]
		b.lowerFunction(sym)
		if len(b.queue) == 0 && b.indirect {
			b.queueTaken()
		}
	}
	if check || len(c.errs) != errs {
		return
	}
	k.prog, k.main = b.prog, main
	b.finish(k)
	k.measure(b)
}

func (k *Kernel) ready() {
	if k.build != nil {
		k.buildOnce.Do(k.build)
	}
}

func (k *Kernel) describe(s *source, f *ptx.Function) {
	at := 0
	for _, p := range f.Params {
		a := int(alignOf(p))
		at = (at + a - 1) &^ (a - 1)
		q := Param{Name: p.Name, Type: p.Type.String(), Offset: at, Size: int(sizeOf(p)), Align: a, Pointer: p.Ptr != nil}
		k.params = append(k.params, q)
		at += q.Size
	}
	at32 := &k.attrs
	at32.ParamBytes = at
	at32.MaxThreads = maxThreads
	at32.PTXVersion = targetVersion(s.mod)
	k.blocks = 1
	for _, d := range f.Perf {
		dim := dimOf(d.Args)
		switch d.Name {
		case "minnctapersm":
			if len(d.Args) > 0 {
				k.blocks = max(d.Args[0], 1)
			}
		case "maxntid":
			at32.MaxBlock = dim
			at32.MaxThreads = int(min(dim.Count(), maxThreads))
		case "reqntid":
			at32.ReqBlock = dim
			at32.MaxThreads = int(min(dim.Count(), maxThreads))
		case "reqnctapercluster":
			at32.ReqCluster = dim
		case "maxclusterrank":
			if len(d.Args) > 0 {
				at32.MaxCluster = int(d.Args[0])
			}
		case "explicitcluster":
			at32.Explicit = true
		case "blocksareclusters":
			at32.ClusterGrid = true
		case "maxnreg":
			if len(d.Args) > 0 {
				k.maxRegs = int(min(d.Args[0], 255))
			}
		}
	}
}

func (k *Kernel) measure(b *builder) {
	a := &k.attrs
	a.SharedBytes = int(b.sharedEnd)
	k.dynamicStart = int(alignUp(b.sharedEnd, b.dynAlign))
	a.NumRegs = k.registers()
	a.LocalBytes = k.stack()
	a.ConstBytes = b.c.constBytes
	if k.maxRegs > 0 {
		a.NumRegs = min(a.NumRegs, k.maxRegs)
	}
	if bounded := max(a.MaxBlock.Count(), a.ReqBlock.Count()); bounded > 0 {
		a.NumRegs = min(a.NumRegs, registersFor(bounded, k.blocks))
	}
}

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

// initPart fills b from one initialiser. b is an array with dimensions dims and elements of elem
// bytes.
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
	// A flat list may initialise a multidimensional array.
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

// maskByte returns the byte of x that a mask such as 0xff00 selects, shifted down to bit 0.
func maskByte(x, mask uint64) uint64 {
	x &= mask
	for mask&0xff == 0 && mask != 0 {
		x, mask = x>>8, mask>>8
	}
	return x
}

// symbolAddr returns the address of the global, constant or function that o names. If it names none
// of these, symbolAddr returns false.
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
