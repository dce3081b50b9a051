package vm

import (
	"fmt"
	"slices"

	"github.com/purecuda/cuda/ptx"
)

type builder struct {
	c         *compiler
	prog      *program
	funcs     map[*symbol]*function
	queue     []*symbol // functions still to be lowered
	shared    map[*symbol]uint32
	sharedEnd uint32
	dynAlign  uint32
	locs      map[string]int32
	indirect  bool
	check     bool // only look for errors
	taken     map[*symbol]bool
	opcodes   map[string]int32
}

// function returns the function of a symbol. The first call queues it for lowering.
func (b *builder) function(s *source, sym *symbol) *function {
	if f := b.funcs[sym]; f != nil {
		return f
	}
	f := &function{name: sym.name, id: sym.id}
	b.funcs[sym] = f
	b.prog.funcs = append(b.prog.funcs, f)
	b.prog.byID[sym.id] = f
	if sym.fn.Body == nil {
		f.ext, f.builtin = b.c.extern(sym.name)
		f.layout(b.c, sym.fn)
		if f.ext == nil && f.builtin == nil {
			b.c.fail(s, sym.fn.Pos, CompileUnresolved, "function %s is not defined", sym.name)
		}
		return f
	}
	if !b.check || !b.c.checked[sym] {
		b.c.checked[sym] = true
		b.queue = append(b.queue, sym)
	}
	return f
}

func (b *builder) addressTaken(sym *symbol) {
	b.taken[sym] = true
}

// queueTaken queues every function with a body, because an indirect call may reach any of them.
func (b *builder) queueTaken() {
	if b.check && b.c.checkAll {
		return
	}
	b.c.checkAll = true
	for _, s := range b.c.sources {
		for _, d := range s.mod.Decls {
			f, ok := d.(*ptx.Function)
			if ok && !f.Entry && f.Body != nil {
				b.function(s, s.syms[f.Name])
			}
		}
	}
}

// placeShared assigns an offset to a shared variable. All dynamic variables (extern and unsized)
// begin at the end of the static ones.
func (b *builder) placeShared(sym *symbol) (offset uint32, dynamic bool) {
	v := sym.v
	if v.Linkage == ptx.Extern || len(v.Dims) > 0 && v.Dims[0] == ptx.Unsized {
		b.dynAlign = max(b.dynAlign, uint32(alignOf(v)))
		return 0, true
	}
	if at, ok := b.shared[sym]; ok {
		return at, false
	}
	end := roundUp(uint64(b.sharedEnd), alignOf(v))
	if end > mostShared || sizeOf(v) > mostShared-end {
		b.c.fail(sym.src, v.Pos, CompileInvalid, "variable %s: %d bytes are more shared memory than any block has", v.Name, sizeOf(v))
		return 0, false
	}
	at := uint32(end)
	b.shared[sym] = at
	b.sharedEnd = uint32(end + sizeOf(v))
	return at, false
}

// mostShared is the maximum shared memory of a block on any device.
const mostShared = 227 << 10

func alignUp(n, a uint32) uint32 { return (n + a - 1) &^ (a - 1) }

// finish resolves addresses that are known only after all functions have been lowered.
func (b *builder) finish(k *Kernel) {
	base := uint64(alignUp(b.sharedEnd, b.dynAlign))
	for _, f := range b.prog.funcs {
		for i := range f.consts {
			if c := &f.consts[i]; c.dynamic {
				c.value, c.dynamic = c.value+base, false
			}
		}
	}
	for i := range b.prog.code {
		in := &b.prog.code[i]
		if in.ctl == ctlCall && in.x.fn != nil {
			in.target = in.x.fn.entry
		}
	}
}

// registersFor returns the maximum number of registers per thread with which the given number of
// blocks, of the given number of threads, fit on a multiprocessor. Compilers observe this limit.
func registersFor(threads, blocks uint64) int {
	const perMultiprocessor, unit = 1 << 16, 8 // a warp receives registers in multiples of 256
	warps := (min(threads, maxThreads) + 31) / 32 * min(blocks, maxThreads)
	return int(max(perMultiprocessor/32/warps/unit*unit, 16))
}

func dimOf(args []uint64) Dim3 {
	d := Dim3{1, 1, 1}
	for i, p := range []*uint32{&d.X, &d.Y, &d.Z} {
		if i < len(args) {
			*p = uint32(args[i])
		}
	}
	return d
}

func targetVersion(m *ptx.Module) int {
	for _, t := range m.Targets {
		n := 0
		if _, err := fmt.Sscanf(t, "sm_%d", &n); err == nil {
			return n
		}
	}
	return 0
}

// registers estimates how many 32-bit registers a thread would need, from 16 to 255.
func (k *Kernel) registers() int {
	n := k.main.banks[class32] + 2*k.main.banks[class64]
	n -= uint32(min(len(k.main.consts), int(n)))
	return int(min(max(n+8, 16), 255))
}

// stack returns the size in bytes of the kernel's local memory plus that of the largest function it
// can reach.
func (k *Kernel) stack() int {
	n := uint32(0)
	for _, f := range k.prog.funcs {
		if f != k.main {
			n = max(n, f.local)
		}
	}
	return int(n + k.main.local)
}

type lowered struct {
	in    inst
	refs  []ref
	pos   ptx.Pos
	loc   int32
	to    *label
	table *branchTable
	mem   bool // the instruction accesses memory at the address in field a
	order memoryOrder
	op    string // the PTX instruction that begins with this one
}

type lowerer struct {
	b      *builder
	file   *source
	fn     *ptx.Function
	f      *function
	scope  *scope
	code   []*lowered
	vregs  [numClasses]uint32
	consts map[constant]reg
	carry  reg // condition code register, or noReg if unused
	retPC  reg // column that holds the return address
	// savedSP holds the value that alloca's stack pointer had at function entry.
	savedSP  reg
	tables   map[*ptx.BranchTargets]*branchTable // targets of brx.idx
	lists    map[*ptx.CallTargets]*symbol        // the last function in each .calltargets list
	prologue []*lowered                          // prepended to the completed code
	local    uint32                              // number of bytes of local memory used so far

	// State of the instruction being lowered.
	cur        *ptx.Instr
	pos        ptx.Pos
	loc        int32
	places     map[sourcePlace]string // the latest .loc for each position
	guard      reg
	guardKind  guardKind
	after      []widen
	looseWidth bool
	failed     bool
}

func (b *builder) lowerFunction(sym *symbol) {
	f := b.funcs[sym]
	b.c.lowered++
	l := &lowerer{b: b, file: sym.src, fn: sym.fn, f: f, consts: map[constant]reg{}, guard: noReg, carry: noReg, savedSP: noReg}
	l.scope = newScope(nil)
	if sym.fn.Entry {
		l.kernelParams()
	} else {
		l.functionParams()
	}
	l.block(sym.fn.Body)
	l.pos = sym.fn.Body.End
	l.guardKind = guardNone
	if len(l.code) == 0 || l.code[len(l.code)-1].in.ctl != ctlExit || l.labelAtEnd() {
		l.leave()
	}
	f.local = alignUp(max(l.local, f.local), 16)
	l.place()
}

func (l *lowerer) labelAtEnd() bool {
	for _, i := range l.code {
		if i.to != nil && i.to.at == len(l.code) {
			return true
		}
	}
	for _, t := range l.tables {
		for _, to := range t.labels {
			if to.at == len(l.code) {
				return true
			}
		}
	}
	return l.code[len(l.code)-1].in.kind != guardNone
}

func newScope(outer *scope) *scope {
	return &scope{outer: outer, regs: map[string]regDef{}, ranges: map[string]rangeDef{}, vars: map[string]*local{}, labels: map[string]*label{},
		tables: map[string]*ptx.BranchTargets{}, protos: map[string]*ptx.CallPrototype{}, calls: map[string]*ptx.CallTargets{}}
}

// checkParams rejects a kernel whose parameters exceed the limit that applies to the target and PTX
// version.
func (l *lowerer) checkParams() {
	size, limit := uint64(0), uint64(4352)
	if v := l.file.mod.Version; targetVersion(l.file.mod) >= 70 && (v.Major > 8 || v.Major == 8 && v.Minor >= 1) {
		limit = 32764
	}
	for _, p := range l.fn.Params {
		size = roundUp(size, alignOf(p))
		if n := sizeOf(p); size > limit || n > limit-size {
			l.pos = l.fn.Pos
			l.bad("kernel %s uses too much parameter space (%#x bytes, %#x max)", l.fn.Name, max(size+n, n), limit)
			return
		}
		size += sizeOf(p)
	}
}

func (l *lowerer) kernelParams() {
	l.checkParams()
	at := uint32(0)
	for _, p := range l.fn.Params {
		at = alignUp(at, uint32(alignOf(p)))
		l.scope.vars[p.Name] = &local{space: ptx.ParamSpace, offset: at, size: sizeOf(p), v: p, kernel: true}
		at += uint32(sizeOf(p))
	}
}

func (l *lowerer) block(b *ptx.Block) {
	l.scope = newScope(l.scope)
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *ptx.Label:
			l.scope.labels[s.Name] = &label{name: s.Name, at: -1}
		case *ptx.BranchTargets:
			l.scope.tables[s.Label] = s
		case *ptx.CallPrototype:
			l.scope.protos[s.Label] = s
		case *ptx.CallTargets:
			l.scope.calls[s.Label] = s
		case *ptx.RegDecl:
			l.declare(s)
		}
	}
	for _, s := range b.Stmts {
		l.statement(s)
	}
	l.scope = l.scope.outer
}

func (l *lowerer) declare(d *ptx.RegDecl) {
	if d.Count > 0 {
		l.scope.ranges[d.Name] = rangeDef{d.Type, d.Count, d.Vector}
		return
	}
	l.scope.regs[d.Name] = l.makeReg(d.Type, d.Vector)
}

func (l *lowerer) statement(s ptx.Stmt) {
	l.b.c.lowered++
	switch s := s.(type) {
	case *ptx.Instr:
		l.instruction(s)
	case *ptx.Label:
		l.scope.labels[s.Name].at = len(l.code)
	case *ptx.Block:
		l.block(s)
	case *ptx.Variable:
		for _, v := range l.b.c.expand(s) {
			l.variable(s, v)
		}
	case *ptx.Loc:
		l.location(s)
	}
}

// sourcePlace is a position in a source file.
type sourcePlace struct{ file, line, col int }

// location records the source line of the code that follows. If the code is inlined, the place of
// the call is that of an earlier .loc, which can itself be inlined.
func (l *lowerer) location(s *ptx.Loc) {
	text := fmt.Sprintf("%s:%d", l.file.files[s.File], s.Line)
	if in := s.Inlined; in != nil {
		at := sourcePlace{in.File, in.Line, in.Col}
		outer, ok := l.places[at]
		if !ok {
			outer = fmt.Sprintf("%s:%d", l.file.files[in.File], in.Line)
		}
		text += ", inlined at " + outer
	}
	if l.places == nil {
		l.places = map[sourcePlace]string{}
	}
	l.places[sourcePlace{s.File, s.Line, s.Col}] = text
	i, ok := l.b.locs[text]
	if !ok {
		l.b.prog.locs = append(l.b.prog.locs, text)
		i = int32(len(l.b.prog.locs))
		l.b.locs[text] = i
	}
	l.loc = i
}

// mostLocal is the maximum local memory that a function may declare. A kernel that is below this
// limit but declares more than one thread can have is loaded, but cannot be launched.
const mostLocal = 1 << 31

func roundUp(n, a uint64) uint64 { return (n + a - 1) / a * a }

// variable declares v inside a function. v is one of the variables that decl expands to.
func (l *lowerer) variable(decl, v *ptx.Variable) {
	lv := &local{space: v.Space, size: sizeOf(v), v: v}
	switch v.Space {
	case ptx.LocalSpace, ptx.ParamSpace:
		end := roundUp(uint64(l.local), max(alignOf(v), 4))
		if end > mostLocal || lv.size > mostLocal-end {
			l.pos = v.Pos
			l.fail(CompileInvalid, "variable %s: %d bytes are more local memory than any thread has", v.Name, lv.size)
			break
		}
		lv.offset = uint32(end)
		l.local = uint32(end + lv.size)
	case ptx.SharedSpace:
		lv.sym = &symbol{name: v.Name, src: l.file, v: v}
		if v.Linkage == ptx.Extern {
			lv.sym = l.b.c.definition(lv.sym)
		}
	case ptx.GlobalSpace, ptx.ConstSpace:
		lv.sym = l.b.c.statics[static{decl, v.Name}]
		if lv.sym != nil {
			break // the variable was already placed when another kernel's program was compiled
		}
		lv.sym = &symbol{name: v.Name, src: l.file, v: v}
		l.b.c.statics[static{decl, v.Name}] = lv.sym
		l.b.c.placeVariable(lv.sym)
		if v.Init != nil && lv.sym.addr != 0 {
			if b, err := l.b.c.opts.Memory.Bytes(lv.sym.addr, lv.size); err == nil {
				l.b.c.initVariable(l.file, v, b)
			}
		}
	default:
		l.pos = v.Pos
		l.fail(CompileUnsupported, "variable %s in space .%s inside a function", v.Name, v.Space)
	}
	l.scope.vars[v.Name] = lv
}

func (l *lowerer) instruction(i *ptx.Instr) {
	l.cur, l.pos, l.failed = i, i.Pos, false
	l.guard, l.guardKind, l.looseWidth = noReg, guardNone, false
	l.after = l.after[:0]
	if i.Guard.Reg != "" {
		d, ok := l.lookupReg(i.Guard.Reg)
		if !ok || d.typ != ptx.Pred {
			l.fail(CompileInvalid, "guard %s is not a predicate", i.Guard.Reg)
			return
		}
		l.guard, l.guardKind = d.reg, guardIf
		if i.Guard.Not {
			l.guardKind = guardNot
		}
	}
	lower := lowering[i.Op.Name]
	if lower == nil {
		l.unknown(i.Op.Name)
		return
	}
	start := len(l.code)
	lower(l, i, parseForm(i.Op))
	for _, w := range l.after {
		l.emit(w.exec(), w.dst, w.src)
	}
	if start < len(l.code) {
		l.code[start].op = i.Op.Text
	}
}

func (w widen) exec() execFunc {
	signed := w.typ.Kind() == ptx.KindSigned
	narrow := uint(8 * w.typ.Size())
	switch {
	case w.wide != 0:
		keep := ^uint32(0) >> (32 - 8*w.wide)
		return lane1(func(a uint32) uint32 { return uint32(extend(uint64(a), narrow, signed)) & keep })
	case !signed:
		return execZero64
	case narrow < 32:
		return lane1(func(a uint32) uint64 { return extend(uint64(a), narrow, true) })
	}
	return execSign64
}

// lowerFunc lowers all instructions that have a given name.
type lowerFunc func(l *lowerer, i *ptx.Instr, f *form)

// lowering maps each instruction name to its lowerFunc. Each instruction family registers its
// functions in init.
var lowering = map[string]lowerFunc{}

func register(fn lowerFunc, names ...string) {
	for _, n := range names {
		lowering[n] = fn
	}
}

// fail records an error at the current instruction. It records at most one error per instruction.
func (l *lowerer) fail(kind CompileErrorKind, format string, args ...any) {
	if l.failed {
		return
	}
	l.failed = true
	msg := fmt.Sprintf(format, args...)
	if l.cur != nil && l.cur.Pos == l.pos {
		msg = l.cur.Op.Text + ": " + msg
	}
	l.b.c.fail(l.file, l.pos, kind, "%s", msg)
}

func (l *lowerer) bad(format string, args ...any) { l.fail(CompileInvalid, format, args...) }

// args reports whether the number of operands is between least and most. If it is not, args records
// an error.
func (l *lowerer) args(i *ptx.Instr, least, most int) bool {
	if len(i.Args) < least || len(i.Args) > most {
		l.bad("%d operands, want %s", len(i.Args), map[bool]string{true: fmt.Sprint(least), false: fmt.Sprintf("%d to %d", least, most)}[least == most])
		return false
	}
	return true
}

// emit appends an instruction that writes dst and reads srcs. The first three sources become a, b
// and c, and the others go into x.regs. Any of them may be noReg.
func (l *lowerer) emit(exec execFunc, dst reg, srcs ...reg) *lowered {
	n := &lowered{in: inst{exec: exec, target: -1}, pos: l.pos, loc: l.loc, order: orderOf(l.cur)}
	n.ref(fieldD, dst, true)
	for i, s := range srcs {
		if i < 3 {
			n.ref(fieldA+field(i), s, false)
		} else {
			n.more(s, false)
		}
	}
	if l.guardKind != guardNone {
		n.in.kind = l.guardKind
		n.ref(fieldGuard, l.guard, false)
	}
	l.code = append(l.code, n)
	return n
}

func (n *lowered) ref(f field, r reg, def bool) {
	if r != noReg {
		n.refs = append(n.refs, ref{f, r, def})
	}
}

func (n *lowered) more(r reg, def bool) {
	x := n.extra()
	n.ref(fieldX+field(len(x.regs)), r, def)
	x.regs = append(x.regs, 0)
	x.wide = append(x.wide, r.class == class64)
}

func (n *lowered) extra() *extra {
	if n.in.x == nil {
		n.in.x = new(extra)
	}
	return n.in.x
}

// slot assigns a number to a memory instruction. The number selects the instruction's entry in the
// region cache.
func (l *lowerer) slot(n *lowered) *lowered {
	n.mem = true
	n.in.slot = l.b.prog.slots
	l.b.prog.slots++
	if l.cur != nil && slices.Contains(l.cur.Op.Mods, "shared::cluster") {
		l.b.prog.reachesCluster(n.in.slot)
	}
	return n
}

// markAccess sets accMemory in a memory instruction, and accWide if its address has 64 bits.
func (n *lowered) markAccess() {
	if !n.mem {
		return
	}
	n.in.aux |= accMemory
	for _, r := range n.refs {
		if r.field == fieldA && r.reg.class == class64 {
			n.in.aux |= accWide
		}
	}
}

// prepend inserts the prologue before the code and moves the labels accordingly.
func (l *lowerer) prepend() {
	n := len(l.prologue)
	if n == 0 {
		return
	}
	l.code = append(l.prologue, l.code...)
	seen := map[*label]bool{}
	move := func(to *label) {
		if to != nil && !seen[to] {
			seen[to] = true
			to.at += n
		}
	}
	for _, i := range l.code {
		move(i.to)
	}
	for _, t := range l.tables {
		for _, to := range t.labels {
			move(to)
		}
	}
}

// place allocates the function's registers and appends its code to the program.
func (l *lowerer) place() {
	base := int32(len(l.b.prog.code))
	l.f.entry = base
	l.prepend()
	l.allocate()
	l.f.retPC = l.retPC.id
	for _, t := range l.tables {
		for _, to := range t.labels {
			t.code = append(t.code, base+int32(to.at))
		}
	}
	for _, n := range l.code {
		n.markAccess()
		if n.to != nil {
			n.in.target = base + int32(n.to.at)
		}
		if n.table != nil {
			n.in.x.table = n.table.code
		}
		l.b.prog.code = append(l.b.prog.code, n.in)
		l.b.prog.lines = append(l.b.prog.lines, lineInfo{n.pos.Line, int32(l.file.index), n.loc, l.b.opcode(n.op), n.order})
	}
}
