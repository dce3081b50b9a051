package ir

// Module is a compiled package, with its kernels, functions and variables.
type Module struct {
	Funcs []*Func
	Vars  []*Var
	// Externs are functions defined by other modules or by the driver. They have no blocks.
	Externs []*Func
	Files   []string // relative to the Go module, with forward slashes; indexed by Pos.File
	// Inlines are the inlined calls. Pos.Inline is an index into Inlines plus one.
	Inlines []Inline
}

// Inline is a call that the compiler inlined.
type Inline struct {
	Func string // the callee's name in Go's notation
	At   Pos    // position of the call
}

// Pos is a position in the source.
type Pos struct {
	File, Line, Col int32
	Inline          int32 // 0, or an index into Module.Inlines plus one
}

// Func is a kernel or a device function.
type Func struct {
	Name    string // name in PTX
	GoName  string // name in messages, such as heat.step or (*T).scale
	Kernel  bool
	Params  []Param
	Results []Type
	Blocks  []*Block // the first one is the entry block
	Slots   []Slot
	Launch  Launch // set for kernels
	Options Options
	Pos     Pos
	Module  *Module
	File    string // set for an extern function that a PTX file defines: the name of that file
	// Unrolled lists the loops that were unrolled partially, for remarks.
	Unrolled []Unrolled

	values, blocks int // the next free IDs
}

// Param is a parameter in the PTX. A kernel parameter is a memory block of Size bytes. OpParam
// reads one of its parts; the instruction's Aux is an index that counts the parts of all
// parameters.
type Param struct {
	Name        string
	Size, Align int
	Parts       []Part // the parts a kernel reads; a device function's parameter has exactly one
	// Pointee is the known alignment of what the first part, a pointer, points to. It is 0 if
	// unknown.
	Pointee  int
	Restrict bool
	ReadOnly bool
}

// Part is a scalar within a parameter.
type Part struct {
	Offset int
	Mem    Mem
	Space  Space // for a pointer: the space it is known to point to
	Len    Len   // for an integer: whether it is the length or capacity of a slice
}

// Len specifies whether an integer is the length or the capacity of a slice. A length is at least 0
// and at most the capacity, which is the next part. Kernels rely on this.
type Len uint8

const (
	NoLen Len = iota
	Length
	Capacity
)

// MaxLen is larger than every length and capacity: no memory that a GPU can access has 2^49 bytes. A
// slice whose elements have no size can be longer, so its parts are marked NoLen.
const MaxLen = 1 << 49

// Launch describes the launch bounds of a kernel, which become PTX directives.
type Launch struct {
	Block     [3]int // 0 if not specified
	Required  bool   // whether Block becomes .reqntid instead of .maxntid
	Cluster   [3]int
	MinBlocks int
	MaxRegs   int
}

// Options change how a function is compiled.
type Options struct {
	NoBounds bool // omit the bounds checks of indices and slices
	Trap     bool // a failed check traps and writes no fault record
	NoFMA    bool
}

// Slot is a variable in a thread's local memory.
type Slot struct {
	Name        string
	Size, Align int
}

// Var is a module-level variable.
type Var struct {
	Name        string
	Space       Space // Global, Const or Shared
	Size, Align int
	Init        []byte // nil means zero
	Extern      bool   // dynamic shared memory
	Visible     bool   // the host can look it up by name
	// For variables that the host can look up: the import path of the package and the name in Go.
	Package, Object string
}

// Block is a basic block.
type Block struct {
	ID     int
	Func   *Func
	Values []*Value // phis come first
	Preds  []*Block // predecessors, in the order of the phis' operands
	Term   Term
	// Cold is set for blocks that are rarely executed, such as those on the path to a fault.
	Cold bool
	// Second is set for the blocks of a kernel's second version, which repeats the checks and loops of the
	// first one.
	Second bool
	// Unroll is set for the head of a loop with an unroll directive: how many iterations to execute
	// at a time. It is 1 if the loop is not to be unrolled.
	Unroll int
	// Nest is set for the head of a loop that contains loops, or contained loops that are unrolled now.
	Nest bool
}

// TermKind is the kind of a block's terminator.
type TermKind uint8

const (
	TermNone TermKind = iota
	TermJump          // continue with Succs[0]
	TermIf            // continue with Succs[0] if Cond is true, otherwise with Succs[1]
	TermRet           // return Results
	TermExit          // end the thread
)

// Term is a block's terminator.
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
	N      int // number of elements in a vector access
	Hint   Hint
	Atomic Atomic
	Round  Round
	Tuple  []Type // types of the results if Type is a tuple
	Var    *Var
	Callee *Func
	Site   *Site
	// Effect is the effect of an OpAsm; see Effects. Divergent means that the result can differ
	// between the threads of a block even if the operands are the same.
	Effect    Effect
	Divergent bool
}

// Hint is a cache operator of a load or store.
type Hint uint8

const (
	HintNone Hint = iota
	HintNC        // load through the read-only data cache
	HintCA
	HintCG
	HintCS
	HintLU
	HintCV
	HintWB
	HintWT
	HintVolatile
)

// Site describes a check: its kind, and the message for the fault record.
type Site struct {
	Kind    string // index, slice, nil, divide, shift, convert, assert, panic
	Message string
}

// Unrolled describes a loop that executes several iterations at a time.
type Unrolled struct {
	Pos   Pos
	Times int
}

// NewFunc adds a function without blocks.
func (m *Module) NewFunc(name string) *Func {
	f := &Func{Name: name, Module: m}
	m.Funcs = append(m.Funcs, f)
	return f
}

// NewBlock adds a block that does not have a terminator yet.
func (f *Func) NewBlock() *Block {
	b := &Block{ID: f.blocks, Func: f}
	f.blocks++
	f.Blocks = append(f.Blocks, b)
	return b
}

// NewValue creates a value that does not belong to a block yet.
func (f *Func) NewValue(op Op, t Type, args ...*Value) *Value {
	v := &Value{ID: f.values, Op: op, Type: t, Args: args}
	f.values++
	return v
}

// NumValues returns a number greater than the ID of every value.
func (f *Func) NumValues() int { return f.values }

// NumBlocks returns a number greater than the ID of every block.
func (f *Func) NumBlocks() int { return f.blocks }

// Append adds a value at the end of a block.
func (b *Block) Append(v *Value) *Value {
	v.Block = b
	b.Values = append(b.Values, v)
	return v
}

// Prepend inserts a value, usually a phi, at the beginning of a block.
func (b *Block) Prepend(v *Value) *Value {
	v.Block = b
	b.Values = append([]*Value{v}, b.Values...)
	return v
}

// Jump ends the block with an unconditional jump.
func (b *Block) Jump(to *Block) {
	b.Term = Term{Kind: TermJump, Succs: []*Block{to}, Pos: b.Term.Pos}
	to.Preds = append(to.Preds, b)
}

// If ends the block with a conditional branch.
func (b *Block) If(cond *Value, then, els *Block) {
	b.Term = Term{Kind: TermIf, Cond: cond, Succs: []*Block{then, els}, Pos: b.Term.Pos}
	then.Preds = append(then.Preds, b)
	els.Preds = append(els.Preds, b)
}

// Ret ends the block with a return.
func (b *Block) Ret(results ...*Value) {
	b.Term = Term{Kind: TermRet, Results: results, Pos: b.Term.Pos}
}

// Exit ends the block and the thread.
func (b *Block) Exit() { b.Term = Term{Kind: TermExit, Pos: b.Term.Pos} }

// Const creates a constant, whose Aux is canonical. Constants do not belong to a block.
func (f *Func) Const(t Type, bits int64) *Value {
	v := f.NewValue(OpConst, t)
	v.Aux = Canonical(t.Kind, bits)
	return v
}

// IsConst reports whether v is a constant with the given bits.
func (v *Value) IsConst(bits int64) bool {
	return v.Op == OpConst && v.Aux == Canonical(v.Type.Kind, bits)
}

// Effects returns the effects of v that passes must preserve.
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
