package ptx

import "math"

// Pos is a position in PTX source: a 1-based line and a 1-based column in bytes. The zero
// Pos means that a node has no position, because a program created it.
type Pos struct {
	Line, Col int32
}

// IsValid reports whether p is a position in source. The zero Pos is not.
func (p Pos) IsValid() bool { return p.Line > 0 }

// Module is one PTX file.
//
// Strings in the tree are substrings of Source. Slices of a parsed tree may share one
// backing array: replace them, but do not append to them or change their elements.
type Module struct {
	Name        string // name passed to Parse, for error messages
	Source      string // the whole source; "" if a program created the tree
	Version     Version
	Targets     []string // arguments of .target: "sm_90a", "debug", "texmode_unified" ...
	AddressSize int      // 32 or 64; 0 if not specified (the ISA then assumes 32)
	Decls       []Decl   // everything after the header, in source order
}

// Version is the argument of .version.
type Version struct {
	Major, Minor int
}

// Decl is a module-level directive: *Function, *Variable, *RegDecl, *Alias, *File,
// *Section, *Pragma, *Loc or *Raw. A *RegDecl occurs there only before the ABI, in PTX
// 1.x and 2.x.
type Decl interface {
	Position() Pos // position where the declaration begins
	decl()
}

// Function is an .entry (kernel) or .func, with or without a body.
type Function struct {
	Pos        Pos
	Doc        string // comment that ends on the previous line, without comment markers
	Linkage    Linkage
	Entry      bool
	Name       string
	Attributes []Attribute // entries of .attribute(...)
	Return     []*Variable // results; only for a .func
	Params     []*Variable // parameters, whose Space is ParamSpace, or RegSpace in a .func
	Perf       []Directive // .maxntid, .reqntid, .noreturn, .pragma ... in source order
	Body       *Block      // nil for a declaration without a body
}

// Attribute is one entry of an .attribute(...) list: .managed, .unified(a, b).
type Attribute struct {
	Name string // name without the dot
	Args []uint64
}

// Directive is a performance-tuning directive in a function's header.
type Directive struct {
	Pos  Pos
	Name string   // name without the dot
	Args []uint64 // number arguments: .maxntid 256, 1, 1
	Text []string // string arguments: .pragma "nounroll" (unquoted), .language "c++"
}

// Variable is one declared variable or parameter. A declaration of several (.global .u32
// a, b;) yields one Variable for each.
type Variable struct {
	Pos        Pos
	Doc        string // as in Function; only for module-level variables
	Linkage    Linkage
	Space      Space
	Bank       int // n of .const[n]; 0 otherwise
	Attributes []Attribute
	Align      int // alignment in bytes (.align); 0 if not specified
	Vector     int // 2, 4 or 8 for .v2, .v4, .v8; 0 for a scalar
	Type       Type
	Ptr        *Pointer // set for a kernel parameter with .ptr, otherwise nil
	Name       string   // "" for an unnamed prototype parameter; "_" is kept as written
	Count      int      // name<Count> declares name0 to name(Count-1); 0 for a single variable
	Dims       []int64  // array dimensions, Unsized for []; empty if not an array
	Init       *Init    // initialiser, or nil if there is none
}

// Unsized is the value in Dims for a first dimension without a size, as in a[].
const Unsized = int64(-1)

// Pointer holds the .ptr attributes of a kernel parameter.
type Pointer struct {
	Space Space // state space; GenericSpace if not specified
	Align int   // alignment in bytes of the memory that the pointer refers to; 0 if not specified
}

// Init is an initialiser: a brace list or one value.
type Init struct {
	Pos   Pos
	Field string  // addr_mode_0 in { addr_mode_0 = wrap } of a .samplerref; "" otherwise
	List  bool    // the initialiser is { Elems... }
	Elems []Init  // elements of a list
	Value Operand // value if List is false: an *Imm, or a *Sym for an address, which may set Generic and Mask
}

// Alias is ".alias Name, Target;".
type Alias struct {
	Pos          Pos
	Name, Target string
}

// File is ".file Index "Name" [, Time, Size]".
type File struct {
	Pos   Pos
	Index int
	Name  string // name without the quotes; escapes are unchanged
	Stamp bool   // whether Time and Size are present
	Time  uint64
	Size  uint64
}

// Section is ".section Name { ... }", DWARF data kept as written. The directive
// .nv_intermediate_source_section { ... } of PTX 9.4 is also a Section, with that Name.
type Section struct {
	Pos  Pos
	Name string // name with its leading dot: ".debug_info"
	Text string // text between the braces
}

// Raw is a line kept as written (@@DWARF of PTX 1.x and 2.x debug output).
type Raw struct {
	Pos  Pos
	Text string
}

// Stmt is a statement in a body: *Instr, *Label, *RegDecl, *Variable, *Block,
// *BranchTargets, *CallTargets, *CallPrototype, *Pragma, *Loc, *File, *Section or *Raw.
type Stmt interface {
	Position() Pos // position where the statement begins
	stmt()
}

// Block is a body or a nested scope.
type Block struct {
	Pos   Pos // position of the opening brace
	End   Pos // position of the closing brace
	Stmts []Stmt
}

// RegDecl declares one register or a range of registers. A declaration with several names
// yields one RegDecl for each name.
type RegDecl struct {
	Pos    Pos
	Type   Type
	Vector int // 2 or 4 for .v2, .v4; 0 for a scalar
	Align  int // alignment in bytes (.align), rarely used; 0 if not specified
	Name   string
	Count  int // Name<Count> declares Name0 to Name(Count-1); 0 for a single register
}

// Label marks the next statement. The labels of .branchtargets, .calltargets and
// .callprototype are stored in those nodes instead.
type Label struct {
	Pos  Pos
	Name string
}

// Instr is one instruction.
type Instr struct {
	Pos   Pos // position of the opcode; the guard's position is Guard.Pos
	Guard Guard
	Op    *Opcode
	Args  []Operand
}

// Guard is the predicate before an instruction: @p or @!p.
type Guard struct {
	Pos Pos
	Reg string // "" if the instruction has no guard
	Not bool
}

// Opcode is an instruction's name with its modifiers. A parsed module has one Opcode
// per distinct spelling, so the pointer can serve as a key.
type Opcode struct {
	Text string   // full name: "ld.global.nc.v4.f32"
	Name string   // first word: "ld"
	Mods []string // "global", "nc", "v4", "f32": in order, without dots; "shared::cta" is one
}

// Operand is *Reg, *RegSum, *Imm, *Sym, *Vec, *Addr, *Elem, *Pair, *List or *Sink.
type Operand interface {
	Position() Pos // position where the operand begins
	operand()
}

// Reg is a declared or predefined register.
//
// A name is a Reg if a .reg declaration in scope declares it, or if it starts with '%'
// and no variable in scope has that name. Every other name is a Sym.
type Reg struct {
	Pos     Pos
	Name    string // name: "%r1", "%tid"
	Sel     string // component or sub-word after the dot: "x", "b0", "h10"; "" for none
	Not     bool   // written as !p
	Neg     bool   // written as -r
	Special bool   // predefined, such as %tid and %clock64
}

// RegSum is a register plus a constant, as in add.u32 %r1, %r2+1, %r3. It is an operand
// of an instruction that does not access memory. ptxas accepts such operands, but
// compilers do not generate them.
type RegSum struct {
	Pos    Pos
	Reg    *Reg
	Offset int64 // never 0
}

// ImmKind identifies the notation of an immediate.
type ImmKind uint8

// The kinds of immediates.
const (
	ImmInt  ImmKind = iota // signed 64-bit
	ImmUint                // unsigned 64-bit: has the suffix U or does not fit in an int64
	ImmF32                 // 0fXXXXXXXX: Bits holds the 32-bit pattern
	ImmF64                 // 0dXXXXXXXXXXXXXXXX or decimal: Bits holds the 64-bit pattern
)

// Imm is an immediate. Constant expressions are folded, and WARP_SZ is replaced by 32.
type Imm struct {
	Pos  Pos
	Kind ImmKind
	Bits uint64
}

// Int64 returns the value as an integer. It truncates a floating-point value.
func (i *Imm) Int64() int64 {
	if i.IsFloat() {
		return int64(i.Float64())
	}
	return int64(i.Bits)
}

// Float64 returns the value as a float64.
func (i *Imm) Float64() float64 {
	switch i.Kind {
	case ImmF32:
		return float64(math.Float32frombits(uint32(i.Bits)))
	case ImmF64:
		return math.Float64frombits(i.Bits)
	case ImmUint:
		return float64(i.Bits)
	}
	return float64(int64(i.Bits))
}

// Float32Bits returns the bits of the value in single precision. A 0f literal's bits are
// returned unchanged, even for a NaN. Other values are rounded to nearest even.
func (i *Imm) Float32Bits() uint32 {
	if i.Kind == ImmF32 {
		return uint32(i.Bits)
	}
	return math.Float32bits(float32(i.Float64()))
}

// Float64Bits returns the bits of the value in double precision. A 0d literal's bits are
// returned unchanged.
func (i *Imm) Float64Bits() uint64 {
	if i.Kind == ImmF64 {
		return i.Bits
	}
	return math.Float64bits(i.Float64())
}

// IsFloat reports whether the immediate was written as a floating-point number.
func (i *Imm) IsFloat() bool { return i.Kind >= ImmF32 }

// Sym is the name of a variable, parameter, function or label, plus a byte offset.
type Sym struct {
	Pos     Pos
	Name    string
	Offset  int64
	Generic bool   // written as generic(Name); only in initialisers
	Mask    uint64 // in an initialiser, Mask(Name) selects one byte of an address; 0 if absent
}

// Vec is { a, b, ... }.
type Vec struct {
	Pos   Pos
	Elems []Operand
}

// Addr is a memory operand: [Base + Offset], or [Base, Rest...] for textures, surfaces
// and tensor maps.
type Addr struct {
	Pos    Pos
	Base   Operand // *Reg or *Sym (with Offset 0); nil for the absolute address Offset
	Offset int64
	Rest   []Operand // operands after the first comma: sampler, coordinates
	Suffix string    // "unified" for [a].unified; "" if absent
}

// Elem is an array element: Name[Offset] or Name[Index+Offset]. In a memory instruction
// it denotes the element, in any other instruction its address. Offset counts elements,
// not bytes.
type Elem struct {
	Pos    Pos
	Name   string
	Index  *Reg // nil for a constant index
	Offset int64
}

// Pair is a|b: the two predicates of setp, or the value and the predicate of shfl.
type Pair struct {
	Pos  Pos
	A, B Operand
}

// List is ( a, b, ... ) in a call. See Instr.Call.
type List struct {
	Pos   Pos
	Elems []Operand
}

// Sink is _, a destination that discards the result.
type Sink struct {
	Pos Pos
}

// BranchTargets is "Label: .branchtargets L1, L2, ...;", the jump table of brx.idx.
type BranchTargets struct {
	Pos     Pos
	Label   string
	Targets []string
}

// CallTargets is "Label: .calltargets f1, f2, ...;".
type CallTargets struct {
	Pos     Pos
	Label   string
	Targets []string
}

// CallPrototype is "Label: .callprototype (ret) _ (params);".
type CallPrototype struct {
	Pos    Pos
	Label  string
	Return []*Variable
	Params []*Variable
	Perf   []Directive // directives such as .noreturn and .abi_preserve
}

// Pragma is ".pragma "a", "b";" as a statement or at module level.
type Pragma struct {
	Pos  Pos
	Text []string // strings without quotes
}

// Loc is a .loc line: the source position of the code after it.
type Loc struct {
	Pos             Pos
	Intermediate    bool // .loc_intermediate: a position in the front end's intermediate code
	File, Line, Col int
	Inlined         *Inlined // nil if the code is not inlined
}

// Inlined is the optional second part of a .loc: function_name ..., inlined_at ...
type Inlined struct {
	Func            string // label of the function name in .debug_str
	FuncOffset      int64
	File, Line, Col int
}
