package ir

// Kind is what a register holds.
type Kind uint8

const (
	None Kind = iota // no result
	Bool             // a predicate
	I32              // also Go's 8- and 16-bit integers, extended
	I64              // also int, uint and uintptr
	F16              // num.F16
	BF16             // num.BF16
	F32
	F64
	Ptr   // an address of 64 bits in a Space
	Tuple // several results, which Extract reads
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

// Type is the type of a Value. Space has a meaning for Ptr only.
type Type struct {
	Kind  Kind
	Space Space
}

// The types without a space.
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

// PtrTo returns the type of addresses in a space.
func PtrTo(s Space) Type { return Type{Ptr, s} }

// IsFloat reports whether the kind is a floating-point number.
func (k Kind) IsFloat() bool { return k >= F16 && k <= F64 }

// IsInt reports whether the kind is an integer.
func (k Kind) IsInt() bool { return k == I32 || k == I64 }

// Bits returns the width of a register of the kind, and 1 for Bool.
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

// Mem is how a value lies in memory.
type Mem uint8

const (
	MNone Mem = iota
	MBool     // a byte, 0 or 1; Bool in a register
	MS8       // I32, sign-extended by a load
	MU8
	MS16
	MU16
	M32  // I32
	M64  // I64
	MF16 // F16
	MBF16
	MF32
	MF64
	MPtr // a generic address of 64 bits
)

var memSizes = [...]int{0, 1, 1, 1, 2, 2, 4, 8, 2, 2, 4, 8, 8}
var memNames = [...]string{"-", "bool", "s8", "u8", "s16", "u16", "b32", "b64", "f16", "bf16", "f32", "f64", "ptr"}
var memTypes = [...]Type{TNone, TBool, TI32, TI32, TI32, TI32, TI32, TI64, TF16, TBF16, TF32, TF64, TPtr}

// Size returns the size in bytes, which is also the alignment.
func (m Mem) Size() int { return memSizes[m] }

// Type returns the type of the register that a load fills.
func (m Mem) Type() Type { return memTypes[m] }

func (m Mem) String() string { return memNames[m] }
