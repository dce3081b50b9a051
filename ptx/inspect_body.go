package ptx

import (
	"maps"
	"slices"
)

// bodyReader traverses one body. It counts instructions, records references, and builds
// the flat code for the register estimate.
type bodyReader struct {
	x      *inspector
	n      *functionNotes
	scopes []bodyScope
	code   code
	labels int32
	calls  map[string]bool
	uses   map[string]bool
}

type bodyScope struct {
	single map[string]regSize  // registers by name
	ranges map[string]regRange // ranges name<count>, by name
	ids    map[string]int32    // register numbers by name
	labels map[string]int32
	tables map[string][]string // targets of each .branchtargets, by label
	vars   map[string]bool     // local names that hide module-level variables
}

type regRange struct {
	count int
	size  regSize
}

func (x *inspector) body(n *functionNotes, f *Function) {
	b := &bodyReader{x: x, n: n, calls: map[string]bool{}, uses: map[string]bool{}}
	b.push()
	for _, list := range [][]*Variable{f.Return, f.Params} {
		for _, v := range list {
			b.parameter(v)
		}
	}
	b.block(f.Body)
	n.info.Instructions = len(b.code.instrs)
	n.info.Calls = sorted(b.calls)
	n.info.Uses = sorted(b.uses)
	n.info.Blocks = len(b.code.blocks)
	r := &n.info.Registers
	var known bool
	if r.Live, r.LivePreds, r.At, known = b.code.pressure(); !known {
		r.Live, r.LivePreds = -1, -1
	}
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

func (b *bodyReader) push() { b.scopes = append(b.scopes, bodyScope{}) }
func (b *bodyReader) pop()  { b.scopes = b.scopes[:len(b.scopes)-1] }

func (b *bodyReader) top() *bodyScope { return &b.scopes[len(b.scopes)-1] }

func (b *bodyReader) parameter(v *Variable) {
	if v.Space == RegSpace {
		b.declare(v.Name, v.Count, v.Type, v.Vector)
		return
	}
	b.hide(v.Name)
}

func (b *bodyReader) hide(name string) {
	s := b.top()
	if s.vars == nil {
		s.vars = map[string]bool{}
	}
	s.vars[name] = true
}

func (b *bodyReader) declare(name string, count int, t Type, vector int) {
	b.n.info.Registers.add(t, max(count, 1)*max(vector, 1))
	s := b.top()
	if s.ranges == nil {
		s.single, s.ranges, s.ids = map[string]regSize{}, map[string]regRange{}, map[string]int32{}
	}
	delete(s.ids, name)
	if size := sizeOf(t, vector); count > 0 {
		s.ranges[name] = regRange{count, size}
	} else {
		s.single[name] = size
	}
}

func (b *bodyReader) block(blk *Block) {
	b.push()
	b.announce(blk)
	for _, s := range blk.Stmts {
		b.stmt(s)
	}
	b.pop()
}

// announce declares the labels of a scope in advance, because branches may refer to later
// labels.
func (b *bodyReader) announce(blk *Block) {
	s := b.top()
	for _, st := range blk.Stmts {
		switch st := st.(type) {
		case *Label:
			if s.labels == nil {
				s.labels = map[string]int32{}
			}
			s.labels[st.Name] = b.labels
			b.labels++
		case *BranchTargets:
			if s.tables == nil {
				s.tables = map[string][]string{}
			}
			s.tables[st.Label] = st.Targets
		}
	}
}

func (b *bodyReader) stmt(s Stmt) {
	switch s := s.(type) {
	case *Block:
		b.block(s)
	case *Label:
		b.code.label(b.top().labels[s.Name])
	case *RegDecl:
		b.declare(s.Name, s.Count, s.Type, s.Vector)
	case *Variable:
		b.variable(s)
	case *Instr:
		b.instr(s)
	case *CallTargets:
		for _, name := range s.Targets {
			b.called(name)
		}
	}
}

func (b *bodyReader) variable(v *Variable) {
	b.hide(v.Name)
	switch v.Space {
	case LocalSpace:
		b.n.info.Local += v.bytes()
	case SharedSpace:
		b.n.own += v.bytes()
	}
}

func (b *bodyReader) instr(in *Instr) {
	op := b.x.note(in)
	b.code.begin(in.Pos)
	if in.Guard.Reg != "" {
		b.use(in.Guard.Reg)
	}
	if op.call {
		b.call(in)
	} else {
		for i, a := range in.Args {
			b.operand(a, op.access(i, a, in.Guard.Reg != ""))
		}
	}
	b.flow(in, op)
}

// call records the callee of a call. The call writes the registers in its result list.
func (b *bodyReader) call(in *Instr) {
	c, ok := in.Call()
	if !ok {
		return
	}
	for _, r := range c.Return {
		b.operand(r, regWrite)
	}
	for _, a := range c.Args {
		b.operand(a, regRead)
	}
	switch callee := c.Callee.(type) {
	case *Sym:
		b.called(callee.Name)
	default:
		b.n.info.Indirect++
		b.operand(callee, regRead)
	}
}

func (b *bodyReader) called(name string) { b.calls[name] = true }

func (b *bodyReader) operand(o Operand, how access) {
	switch o := o.(type) {
	case *Reg:
		if o.Special {
			b.x.special(o)
			return
		}
		if o.Sel != "" && how&regWrite != 0 { // a write to a part of a register preserves the rest
			how |= regRead
		}
		b.register(o.Name, how)
	case *RegSum:
		b.operand(o.Reg, regRead)
	case *Sym:
		b.symbol(o.Name)
	case *Vec:
		b.operands(o.Elems, how)
	case *List:
		b.operands(o.Elems, how)
	case *Pair:
		b.operand(o.A, how)
		b.operand(o.B, how)
	case *Addr:
		if o.Base != nil {
			b.operand(o.Base, regRead)
		}
		b.operands(o.Rest, regRead)
	case *Elem:
		b.symbol(o.Name)
		if o.Index != nil {
			b.operand(o.Index, regRead)
		}
	}
}

func (b *bodyReader) operands(list []Operand, how access) {
	for _, o := range list {
		b.operand(o, how)
	}
}

func (b *bodyReader) use(reg string) { b.register(reg, regRead) }

// register resolves a register name, innermost scope first, and records the access.
func (b *bodyReader) register(name string, how access) {
	for i := len(b.scopes) - 1; i >= 0; i-- {
		s := &b.scopes[i]
		if s.ids == nil {
			continue
		}
		id, ok := s.ids[name]
		if !ok {
			size, declared := s.find(name)
			if !declared {
				continue
			}
			id = b.code.register(size)
			s.ids[name] = id
		}
		b.code.touch(id, how)
		return
	}
}

// find searches the scope's own registers for name. The name of a range can end in
// digits: r12 can belong to r<13> or to r1<3>.
func (s *bodyScope) find(name string) (regSize, bool) {
	if size, ok := s.single[name]; ok {
		return size, true
	}
	const longest = 10 // more digits than any valid count has
	index, scale := 0, 1
	for i := len(name) - 1; i > 0 && len(name)-i <= longest && class[name[i]] == clDigit; i-- {
		index += int(name[i]-'0') * scale
		scale *= 10
		if name[i] == '0' && i+1 < len(name) {
			continue // register numbers have no leading zero
		}
		if r, ok := s.ranges[name[:i]]; ok && index < r.count {
			return r.size, true
		}
	}
	return regSize{}, false
}

// symbol records a use of a module-level variable, unless a local name hides it.
func (b *bodyReader) symbol(name string) {
	v := b.x.vars[name]
	if v == nil || b.uses[name] || b.hidden(name) {
		return
	}
	b.uses[name] = true
	if v.Space == SharedSpace {
		if b.n.shared == nil {
			b.n.shared = map[string]*Variable{}
		}
		b.n.shared[name] = v
	}
}

func (b *bodyReader) hidden(name string) bool {
	for i := range b.scopes {
		if b.scopes[i].vars[name] {
			return true
		}
	}
	return false
}

func (b *bodyReader) flow(in *Instr, op *opNotes) {
	switch op.flow {
	case flowBranch:
		if len(in.Args) > 0 {
			b.jump(in.Args[0])
		}
	case flowTable:
		if len(in.Args) > 1 {
			b.jumpTable(in.Args[1])
		}
	case flowNext:
		return
	}
	b.code.end(in.Guard.Reg != "")
}

func (b *bodyReader) jump(target Operand) {
	if s, ok := target.(*Sym); ok {
		b.jumpTo(s.Name)
	}
}

func (b *bodyReader) jumpTo(label string) {
	for i := len(b.scopes) - 1; i >= 0; i-- {
		if id, ok := b.scopes[i].labels[label]; ok {
			b.code.jump(id)
			return
		}
	}
}

func (b *bodyReader) jumpTable(table Operand) {
	s, ok := table.(*Sym)
	if !ok {
		return
	}
	for i := len(b.scopes) - 1; i >= 0; i-- {
		if targets, ok := b.scopes[i].tables[s.Name]; ok {
			for _, label := range targets {
				b.jumpTo(label)
			}
			return
		}
	}
}
