package ptx

// Type is a fundamental type of a register or variable, as written after the
// dot (.f32, .pred, ...). PTX ISA, "Fundamental Types" and "Packed Data Types".
type Type uint8

// The types. The ISA requires registers that hold a packed type to be declared with a bit
// type of the same size. The instruction has the packed type as a modifier.
const (
	NoType Type = iota
	Pred
	B8
	B16
	B32
	B64
	B128
	U8
	U16
	U32
	U64
	S8
	S16
	S32
	S64
	F16
	F16x2
	BF16
	BF16x2
	TF32
	F32
	F32x2
	F64
	E4M3
	E5M2
	E4M3x2
	E5M2x2
	E2M1x2
	E2M3x2
	E3M2x2
	UE8M0x2
	S2F6x2 // packed fixed-point numbers with two integer bits and six fraction bits each
	E4M3x4
	E5M2x4
	E2M3x4
	E3M2x4
	E2M1x4
	U8x4
	S8x4
	U16x2
	S16x2
	TexRef     // .texref: opaque
	SamplerRef // .samplerref: opaque
	SurfRef    // .surfref: opaque
	numTypes
)

type typeInfo struct {
	name string
	size uint8
	kind TypeKind
}

// TypeKind groups types by the interpretation of their bits.
type TypeKind uint8

// The kinds of types.
const (
	KindNone     TypeKind = iota
	KindPred              // a single bit
	KindBits              // untyped
	KindUnsigned          // .u8 to .u64, .u8x4, .u16x2
	KindSigned            // .s8 to .s64, .s8x4, .s16x2, .s2f6x2
	KindFloat             // floating point, including packed forms
	KindOpaque            // texture, sampler and surface references
)

var typeTable = [numTypes]typeInfo{
	NoType: {"", 0, KindNone}, Pred: {"pred", 1, KindPred},
	B8: {"b8", 1, KindBits}, B16: {"b16", 2, KindBits}, B32: {"b32", 4, KindBits},
	B64: {"b64", 8, KindBits}, B128: {"b128", 16, KindBits},
	U8: {"u8", 1, KindUnsigned}, U16: {"u16", 2, KindUnsigned}, U32: {"u32", 4, KindUnsigned}, U64: {"u64", 8, KindUnsigned},
	S8: {"s8", 1, KindSigned}, S16: {"s16", 2, KindSigned}, S32: {"s32", 4, KindSigned}, S64: {"s64", 8, KindSigned},
	F16: {"f16", 2, KindFloat}, F16x2: {"f16x2", 4, KindFloat},
	BF16: {"bf16", 2, KindFloat}, BF16x2: {"bf16x2", 4, KindFloat},
	TF32: {"tf32", 4, KindFloat}, F32: {"f32", 4, KindFloat}, F32x2: {"f32x2", 8, KindFloat}, F64: {"f64", 8, KindFloat},
	E4M3: {"e4m3", 1, KindFloat}, E5M2: {"e5m2", 1, KindFloat},
	E4M3x2: {"e4m3x2", 2, KindFloat}, E5M2x2: {"e5m2x2", 2, KindFloat},
	E2M1x2: {"e2m1x2", 1, KindFloat}, E2M3x2: {"e2m3x2", 2, KindFloat}, E3M2x2: {"e3m2x2", 2, KindFloat},
	UE8M0x2: {"ue8m0x2", 2, KindFloat}, S2F6x2: {"s2f6x2", 2, KindSigned},
	E4M3x4: {"e4m3x4", 4, KindFloat}, E5M2x4: {"e5m2x4", 4, KindFloat},
	E2M3x4: {"e2m3x4", 4, KindFloat}, E3M2x4: {"e3m2x4", 4, KindFloat}, E2M1x4: {"e2m1x4", 2, KindFloat},
	U8x4: {"u8x4", 4, KindUnsigned}, S8x4: {"s8x4", 4, KindSigned},
	U16x2: {"u16x2", 4, KindUnsigned}, S16x2: {"s16x2", 4, KindSigned},
	TexRef: {"texref", 8, KindOpaque}, SamplerRef: {"samplerref", 8, KindOpaque}, SurfRef: {"surfref", 8, KindOpaque},
}

// String returns the type's PTX name without the dot.
func (t Type) String() string {
	if t < numTypes {
		return typeTable[t].name
	}
	return ""
}

// Size returns the size of a value in memory, in bytes. For an opaque reference it is the
// size of the 64-bit handle that the driver passes. For .pred, which cannot be in memory,
// it is 1.
func (t Type) Size() int {
	if t < numTypes {
		return int(typeTable[t].size)
	}
	return 0
}

// Kind returns the interpretation of the bits of the type.
func (t Type) Kind() TypeKind {
	if t < numTypes {
		return typeTable[t].kind
	}
	return KindNone
}

// ParseType returns the type with that name ("f32", without a dot), or NoType. The name
// can come from an instruction modifier.
func ParseType(name string) Type {
	if len(name) < 2 || len(name) > len("samplerref") {
		return NoType
	}
	for t := Pred; t < numTypes; t++ {
		if typeTable[t].name == name {
			return t
		}
	}
	return NoType
}

// Space is a state space. PTX ISA, "State Spaces".
type Space uint8

// The state spaces.
const (
	GenericSpace Space = iota // not specified, which means a generic address
	RegSpace
	SRegSpace
	ConstSpace
	GlobalSpace
	LocalSpace
	ParamSpace
	SharedSpace
	TexSpace // deprecated .tex variables
	numSpaces
)

var spaceNames = [numSpaces]string{"", "reg", "sreg", "const", "global", "local", "param", "shared", "tex"}

// String returns the space's PTX name without the dot. It returns "" for GenericSpace.
func (s Space) String() string {
	if s < numSpaces {
		return spaceNames[s]
	}
	return ""
}

// ParseSpace parses the name of a state space from a declaration or a modifier. It ignores
// sub-qualifiers: it returns SharedSpace for "shared::cluster". If the difference matters, check
// the modifier itself.
func ParseSpace(name string) (Space, bool) {
	for i := 0; i+1 < len(name); i++ {
		if name[i] == ':' && name[i+1] == ':' {
			name = name[:i]
			break
		}
	}
	for s := RegSpace; s < numSpaces; s++ {
		if spaceNames[s] == name {
			return s, true
		}
	}
	return GenericSpace, false
}

// Linkage is the visibility of a function or variable in other modules.
type Linkage uint8

// The linkages.
const (
	NoLinkage Linkage = iota // local to the module
	Visible
	Extern
	Weak
	Common
	numLinkages
)

var linkageNames = [numLinkages]string{"", "visible", "extern", "weak", "common"}

// String returns the linkage's directive without the dot. It returns "" for NoLinkage.
func (l Linkage) String() string {
	if l < numLinkages {
		return linkageNames[l]
	}
	return ""
}
