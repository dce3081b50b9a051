package gen

import "github.com/purecuda/cuda/ptx"

// pointers finds the parameters that the kernel's body uses as addresses, because nvcc declares
// them as plain .u64. A parameter is an address if its loaded value is the base of an access, or if
// the value is converted from or to a generic address. The analysis follows sums but not control
// flow, because a compiler uses each register for only one purpose.
func pointers(f *ptx.Function) map[string]bool {
	t := tracer{from: map[string]string{}, found: map[string]bool{}, params: map[string]bool{}}
	for _, p := range f.Params {
		t.params[p.Name] = true
	}
	if f.Body != nil {
		t.block(f.Body)
	}
	return t.found
}

type tracer struct {
	params map[string]bool
	from   map[string]string // the parameter that each register contains
	found  map[string]bool
}

func (t *tracer) block(b *ptx.Block) {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *ptx.Instr:
			t.instr(s)
		case *ptx.Block:
			t.block(s)
		}
	}
}

func (t *tracer) instr(in *ptx.Instr) {
	switch in.Op.Name {
	case "ld", "ldu":
		if in.Op.Has("param") {
			t.load(in)
			return
		}
		t.accesses(in.Args)
	case "st", "atom", "red", "prefetch", "cp", "ldmatrix", "wmma":
		t.accesses(in.Args)
	case "cvta":
		if len(in.Args) == 2 {
			t.use(in.Args[1])
			t.copy(in.Args[0], in.Args[1:])
		}
	case "mov", "add", "sub", "mad", "selp":
		if len(in.Args) > 1 {
			t.copy(in.Args[0], in.Args[1:])
		}
	}
}

// load records the parameter from which a register is loaded.
func (t *tracer) load(in *ptx.Instr) {
	if len(in.Args) != 2 {
		return
	}
	to, ok := in.Args[0].(*ptx.Reg)
	from, ok2 := in.Args[1].(*ptx.Addr)
	if !ok || !ok2 || from.Offset != 0 {
		return
	}
	if s, ok := from.Base.(*ptx.Sym); ok && t.params[s.Name] && in.Op.Type().Size() == 8 {
		t.from[to.Name] = s.Name
	}
}

// copy makes the first register refer to the same parameter as the others, unless those
// refer to different parameters.
func (t *tracer) copy(to ptx.Operand, from []ptx.Operand) {
	dst, ok := to.(*ptx.Reg)
	if !ok {
		return
	}
	name := ""
	for _, o := range from {
		if r, ok := o.(*ptx.Reg); ok && t.from[r.Name] != "" {
			if name != "" && name != t.from[r.Name] {
				return
			}
			name = t.from[r.Name]
		}
	}
	if name != "" {
		t.from[dst.Name] = name
	}
}

func (t *tracer) accesses(args []ptx.Operand) {
	for _, a := range args {
		if addr, ok := a.(*ptx.Addr); ok && addr.Base != nil {
			t.use(addr.Base)
		}
	}
}

func (t *tracer) use(o ptx.Operand) {
	if r, ok := o.(*ptx.Reg); ok && t.from[r.Name] != "" {
		t.found[t.from[r.Name]] = true
	}
}
