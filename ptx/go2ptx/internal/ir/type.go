package ir

// Kind classifies the contents of a register.
type Kind uint8

const (
	None Kind = iota // no result
	Bool             // a predicate
	I32              // includes Go's 8- and 16-bit integers, which are extended
	I64              // includes int, uint and uintptr
	F16              // num.F16
	BF16             // num.BF16
	F32
	F64
	Ptr   // a 64-bit address in a Space
	Tuple // several results; Extract selects one
)

// Space is the state space of an address.
type Space uint8

const (
	Generic Space = iota
	Global
	Shared
	Local
	Const
)

// Type is the type of a Value. Space is used only if Kind is Ptr.
type Type struct {
	Kind  Kind
	Space Space
}

// Types other than Ptr.
var (
	TNone  = Type{Kind: None}
	TBool  = Type{Kind: Bool}
	TI32   = Type{Kind: I32}
	TI64   = Type{Kind: I64}
	TF16   = Type{Kind: F16}
	TBF16  = Type{Kind: BF16}
	TF32   = Type{Kind: F32}
	TF64   = Type{Kind: F64}
	TPtr   = Type{Kind: Ptr}
	TTuple = Type{Kind: Tuple}
)

// PtrTo returns the type of an address in space s.
func PtrTo(s Space) Type { return Type{Ptr, s} }

// IsFloat reports whether k is a floating-point kind.
func (k Kind) IsFloat() bool { return k >= F16 && k <= F64 }

// IsInt reports whether k is an integer kind.
func (k Kind) IsInt() bool { return k == I32 || k == I64 }

// Bits returns the width of a register of kind k in bits. The width of Bool is 1.
func (k Kind) Bits() int {
	switch k {
	case Bool:
		return 1
	case F16, BF16:
		return 16
	case I32, F32:
		return 32
	case I64, F64, Ptr:
		return 64
	}
	return 0
}

var kindNames = [...]string{"none", "bool", "i32", "i64", "f16", "bf16", "f32", "f64", "ptr", "tuple"}
var spaceNames = [...]string{"generic", "global", "shared", "local", "const"}

func (k Kind) String() string  { return kindNames[k] }
func (s Space) String() string { return spaceNames[s] }

func (t Type) String() string {
	if t.Kind == Ptr {
		return "ptr." + t.Space.String()
	}
	return t.Kind.String()
}

// Mem is the representation of a value in memory.
type Mem uint8

const (
	MNone Mem = iota
	MBool     // a byte that is 0 or 1; Bool in a register
	MS8       // I32 in a register; loads sign-extend it
	MU8
	MS16
	MU16
	M32  // I32 in a register
	M64  // I64 in a register
	MF16 // F16 in a register
	MBF16
	MF32
	MF64
	MPtr // a 64-bit generic address
)

var memSizes = [...]int{0, 1, 1, 1, 2, 2, 4, 8, 2, 2, 4, 8, 8}
var memNames = [...]string{"-", "bool", "s8", "u8", "s16", "u16", "b32", "b64", "f16", "bf16", "f32", "f64", "ptr"}
var memTypes = [...]Type{TNone, TBool, TI32, TI32, TI32, TI32, TI32, TI64, TF16, TBF16, TF32, TF64, TPtr}

// Size returns the size in bytes, which is also the alignment.
func (m Mem) Size() int { return memSizes[m] }

// Type returns the type of the register that a load writes.
func (m Mem) Type() Type { return memTypes[m] }

func (m Mem) String() string { return memNames[m] }
