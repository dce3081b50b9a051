package ir

// Op is what a Value computes.
type Op uint8

const (
	Invalid Op = iota

	// Values without operands.
	OpConst   // Aux: the bits (a Bool: 0 or 1; F16 to F64: IEEE bits; Ptr: 0 is nil)
	OpUndef   // any value; only for variables that no path reads
	OpParam   // Aux: the index of a Part, counted through all parameters
	OpSpecial // Sym: a special register, %tid.x; Aux: 1 if its value is the same for each read by a thread
	OpSlot    // Aux: index into Func.Slots; the address, PtrTo(Local)
	OpGlobal  // Var: the address of a variable of the module, in the variable's space

	OpPhi     // first in a block; Args in the order of Block.Preds
	OpExtract // Args: tuple; Aux: which result
	OpSelect  // Args: Bool, if true, if false
	OpCopy    // Args: x. Only between passes
	OpPin     // Args: float. x, rounded: an explicit conversion, which forbids fusing

	// Integers. Both operands have the result's type. Shift counts are I32 and unsigned; a count
	// of the width or more gives 0, or the sign with AShr.
	OpAdd
	OpSub
	OpMul
	OpSDiv // MinInt / -1 is MinInt. Lowering checks for zero.
	OpUDiv
	OpSRem // MinInt % -1 is 0
	OpURem
	OpAnd // also Bool
	OpOr
	OpXor
	OpShl
	OpLShr
	OpAShr
	OpSMin
	OpSMax
	OpUMin
	OpUMax
	OpMulHiS
	OpMulHiU
	OpMulWideS // I32 x I32 to I64
	OpMulWideU
	OpClz  // to I32
	OpPopc // to I32
	OpBrev
	OpNot // also Bool

	// Changes of the width.
	OpSExt8  // I32 to I32
	OpSExt16 // I32 to I32
	OpZExt8
	OpZExt16
	OpSExt32 // I32 to I64
	OpZExt32
	OpTrunc // I64 to I32

	// Comparisons, Aux: a Cond. The result is Bool.
	OpICmp // I32, I64, Ptr, and Bool with Eq and Ne
	OpFCmp // Ne is true, the others are false with a NaN

	// Floating-point numbers, rounded to nearest even unless Round says otherwise.
	OpFAdd
	OpFSub
	OpFMul
	OpFDiv
	OpFMA
	OpFNeg
	OpFAbs
	OpFSqrt
	OpFMin    // Go's min: NaN if one is NaN, -0 below +0
	OpFMax    // Go's max
	OpFInt    // to an integer in floating point; Aux: a Round
	OpSToF    // signed integer to float
	OpUToF    // unsigned integer to float
	OpFToS    // Aux: a Round, normally RZ. Saturates, NaN is 0
	OpFToU    // the same, unsigned
	OpFConv   // between floats
	OpBitcast // I32 and F32, I64 and F64, I32 and F16 or BF16 (the low half, zero above), I64 and Ptr

	// Addresses and memory. Aux of a load or store: a constant offset in bytes.
	OpPtrAdd    // Args: Ptr, I64
	OpSpaceCast // Args: Ptr, to another space (to Generic, or from it if known)
	OpLoad      // Args: Ptr. Mem, Hint
	OpStore     // Args: Ptr, value. Mem, Hint
	OpLoadV     // Args: Ptr. Mem; N values, a Tuple; aligned to N*size
	OpStoreV    // Args: Ptr, values...
	OpAtomic    // Args: Ptr, value. Atomic; the old value
	OpCAS       // Args: Ptr, old, new. Atomic; the old value
	OpFence     // Aux: a Scope. Atomic.Order

	// Control that is no terminator.
	OpCheck // Args: Bool, then up to three I64 values of the record. Site
	OpCall  // Callee; Args
	// OpAsm is PTX text, which is how intrinsics and inline PTX look. Sym: statements that end with a
	// semicolon, with $0, $1 ... for results (one of Type, or those of Tuple) and %0, %1 ... for
	// Args; Args that are constants are written as immediates. Names in braces are local to it.
	// Effect and Divergent say what passes must know.
	OpAsm

	numOps
)

// Cond is a comparison.
type Cond int64

const (
	Eq Cond = iota
	Ne
	SLt
	SLe
	SGt
	SGe
	ULt
	ULe
	UGt
	UGe
	FLt
	FLe
	FGt
	FGe
)

var condNames = [...]string{"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge", "flt", "fle", "fgt", "fge"}

func (c Cond) String() string { return condNames[c] }

// Round is a rounding mode.
type Round int64

const (
	RN Round = iota // to nearest, ties to even
	RZ              // to zero
	RM              // down
	RP              // up
)

var roundNames = [...]string{"rn", "rz", "rm", "rp"}

func (r Round) String() string { return roundNames[r] }

// Scope is the set of threads that an atomic operation or fence orders.
type Scope uint8

const (
	ScopeDevice Scope = iota
	ScopeBlock
	ScopeCluster
	ScopeSystem
)

// Order is a memory order.
type Order uint8

const (
	Relaxed Order = iota
	Acquire
	Release
	AcqRel
	SeqCst
)

// RMW is an atomic read-modify-write.
type RMW uint8

const (
	RMWAdd RMW = iota // integers, floats
	RMWSMin
	RMWSMax
	RMWUMin
	RMWUMax
	RMWAnd
	RMWOr
	RMWXor
	RMWXchg
	RMWInc
	RMWDec
	RMWLoad  // OpAtomic without a value
	RMWStore // OpAtomic without a result
)

// Atomic describes an atomic operation.
type Atomic struct {
	Op    RMW
	Scope Scope
	Order Order
}

// Effect says what a pass must respect.
type Effect uint8

const (
	Reads      Effect = 1 << iota // memory
	Writes                        // memory
	Convergent                    // see the package
	Faults                        // may end the thread
	Varies                        // two executions can differ: a clock, an active mask
	Fences                        // a fence for plain accesses
)

// Pure reports whether an instruction with the effects may be removed, merged and moved.
func (e Effect) Pure() bool { return e == 0 }

var opNames = [numOps]string{
	"invalid", "const", "undef", "param", "special", "slot", "global", "phi", "extract", "select", "copy", "pin",
	"add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "and", "or", "xor", "shl", "lshr", "ashr", "smin", "smax", "umin", "umax",
	"mulhi.s", "mulhi.u", "mulwide.s", "mulwide.u", "clz", "popc", "brev", "not",
	"sext8", "sext16", "zext8", "zext16", "sext32", "zext32", "trunc",
	"icmp", "fcmp",
	"fadd", "fsub", "fmul", "fdiv", "fma", "fneg", "fabs", "fsqrt", "fmin", "fmax", "fint", "stof", "utof", "ftos", "ftou", "fconv", "bitcast",
	"ptradd", "spacecast", "load", "store", "loadv", "storev", "atomic", "cas", "fence",
	"check", "call", "asm",
}

func (op Op) String() string { return opNames[op] }

// Commutes reports whether the operands of op can be exchanged.
func (op Op) Commutes() bool {
	switch op {
	case OpAdd, OpMul, OpAnd, OpOr, OpXor, OpSMin, OpSMax, OpUMin, OpUMax, OpMulHiS, OpMulHiU, OpMulWideS, OpMulWideU, OpFAdd, OpFMul, OpFMin, OpFMax:
		return true
	}
	return false
}
