package ir

// Module is a compiled package: its kernels, functions and variables.
type Module struct {
	Funcs []*Func
	Vars  []*Var
	// Externs are functions that other modules or the driver define. They have no blocks.
	Externs []*Func
	Files   []string // module-relative, with slashes; Pos.File indexes it
	// Inlines are the calls that were inlined. Pos.Inline is an index plus one.
	Inlines []Inline
}

// Inline is a call that was inlined.
type Inline struct {
	Func string // the callee, as Go prints it
	At   Pos    // where it was called
}

// Pos is a place in the source.
type Pos struct {
	File, Line, Col int32
	Inline          int32 // 0, or an index into Module.Inlines plus one
}

// Func is a kernel or a device function.
type Func struct {
	Name    string // of the PTX
	GoName  string // for messages: heat.step, (*T).scale
	Kernel  bool
	Params  []Param
	Results []Type
	Blocks  []*Block // the first is the entry
	Slots   []Slot
	Launch  Launch // of a kernel
	Options Options
	Pos     Pos
	Module  *Module
	File    string // of an extern function: the PTX file that defines it, if not the driver

	values, blocks int // numbers given away
}

// Param is a parameter in the PTX. A kernel's parameter is a struct in memory of Size bytes; the
// entry reads its parts with OpParam, whose Aux counts through the parts of all parameters.
type Param struct {
	Name        string
	Size, Align int
	Parts       []Part // of a kernel: what it reads; of a function: one
	// Pointee is the alignment that a pointer of the first part is known to have, or 0.
	Pointee  int
	Restrict bool
	ReadOnly bool
}

// Part is a scalar of a parameter.
type Part struct {
	Offset int
	Mem    Mem
	Space  Space // of a pointer: what it is known to point to
}

// Launch is what the directives of a kernel say.
type Launch struct {
	Block     [3]int // 0: not given
	Required  bool   // .reqntid; else .maxntid
	Cluster   [3]int
	MinBlocks int
	MaxRegs   int
}

// Options change how a function is compiled.
type Options struct {
	NoBounds bool // no checks of indices and slices
	Trap     bool // a failed check traps instead of leaving a record
	NoFMA    bool
}

// Slot is a variable in local memory.
type Slot struct {
	Name        string
	Size, Align int
}

// Var is a variable of the module.
type Var struct {
	Name        string
	Space       Space // Global, Const or Shared
	Size, Align int
	Init        []byte // nil: zero
	Extern      bool   // dynamic shared memory
	Visible     bool   // the host can find it
	// Of a variable that the host can find: the import path and the name in Go.
	Package, Object string
}

// Block is a basic block.
type Block struct {
	ID     int
	Func   *Func
	Values []*Value // phis first
	Preds  []*Block // in the order of the phis' operands
	Term   Term
	// Cold means that the block is on the way to a fault, or otherwise rare.
	Cold bool
}

// TermKind is how a block ends.
type TermKind uint8

const (
	TermNone TermKind = iota
	TermJump          // Succs[0]
	TermIf            // Cond; Succs[0] if true, else Succs[1]
	TermRet           // Results
	TermExit          // the thread ends
)

// Term ends a block.
type Term struct {
	Kind    TermKind
	Cond    *Value
	Succs   []*Block
	Results []*Value
	Pos     Pos
}

// Value is an instruction and its result.
type Value struct {
	ID    int
	Op    Op
	Type  Type
	Args  []*Value
	Aux   int64
	Sym   string
	Pos   Pos
	Block *Block

	Mem    Mem
	N      int // of vectors
	Hint   Hint
	Atomic Atomic
	Round  Round
	Tuple  []Type // of a Tuple
	Var    *Var
	Callee *Func
	Site   *Site
	// Effect is set for OpAsm; see Effects. Divergent means that the result can differ between the
	// threads of a block although the operands do not.
	Effect    Effect
	Divergent bool
}

// Hint is a cache operator of a load or store.
type Hint uint8

const (
	HintNone Hint = iota
	HintNC        // read-only data
	HintCA
	HintCG
	HintCS
	HintLU
	HintCV
	HintWB
	HintWT
	HintVolatile
)

// Site is where a check can fail and what the record says.
type Site struct {
	Kind    string // index, slice, nil, divide, shift, convert, assert, panic
	Message string
}

// NewFunc adds a function without blocks.
func (m *Module) NewFunc(name string) *Func {
	f := &Func{Name: name, Module: m}
	m.Funcs = append(m.Funcs, f)
	return f
}

// NewBlock adds a block without a terminator.
func (f *Func) NewBlock() *Block {
	b := &Block{ID: f.blocks, Func: f}
	f.blocks++
	f.Blocks = append(f.Blocks, b)
	return b
}

// NewValue makes a value that is in no block yet.
func (f *Func) NewValue(op Op, t Type, args ...*Value) *Value {
	v := &Value{ID: f.values, Op: op, Type: t, Args: args}
	f.values++
	return v
}

// NumValues is greater than the ID of every value.
func (f *Func) NumValues() int { return f.values }

// NumBlocks is above the ID of each block.
func (f *Func) NumBlocks() int { return f.blocks }

// Append adds a value at the end of a block.
func (b *Block) Append(v *Value) *Value {
	v.Block = b
	b.Values = append(b.Values, v)
	return v
}

// Prepend adds a value at the beginning of a block, where the phis are.
func (b *Block) Prepend(v *Value) *Value {
	v.Block = b
	b.Values = append([]*Value{v}, b.Values...)
	return v
}

// Jump ends the block.
func (b *Block) Jump(to *Block) {
	b.Term = Term{Kind: TermJump, Succs: []*Block{to}, Pos: b.Term.Pos}
	to.Preds = append(to.Preds, b)
}

// If ends the block.
func (b *Block) If(cond *Value, then, els *Block) {
	b.Term = Term{Kind: TermIf, Cond: cond, Succs: []*Block{then, els}, Pos: b.Term.Pos}
	then.Preds = append(then.Preds, b)
	els.Preds = append(els.Preds, b)
}

// Ret ends the block.
func (b *Block) Ret(results ...*Value) {
	b.Term = Term{Kind: TermRet, Results: results, Pos: b.Term.Pos}
}

// Exit ends the block and the thread.
func (b *Block) Exit() { b.Term = Term{Kind: TermExit, Pos: b.Term.Pos} }

// Const makes a constant, which is in no block. Its Aux is Canonical.
func (f *Func) Const(t Type, bits int64) *Value {
	v := f.NewValue(OpConst, t)
	v.Aux = Canonical(t.Kind, bits)
	return v
}

// IsConst reports whether v is a constant with these bits.
func (v *Value) IsConst(bits int64) bool {
	return v.Op == OpConst && v.Aux == Canonical(v.Type.Kind, bits)
}

// Effects returns what a pass must respect about v.
func (v *Value) Effects() Effect {
	switch v.Op {
	case OpLoad, OpLoadV:
		if v.Hint == HintVolatile {
			return Reads | Writes | Varies | Fences
		}
		return Reads
	case OpStore, OpStoreV:
		if v.Hint == HintVolatile {
			return Writes | Fences
		}
		return Writes
	case OpAtomic, OpCAS:
		return Reads | Writes | Fences | Varies
	case OpFence:
		return Fences | Reads | Writes
	case OpCheck:
		return Faults
	case OpCall:
		return Reads | Writes | Fences | Convergent | Faults | Varies
	case OpAsm:
		return v.Effect
	case OpSpecial:
		if v.Aux == 0 {
			return Varies
		}
	}
	return 0
}
