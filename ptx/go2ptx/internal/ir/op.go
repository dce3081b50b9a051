package ir

// Op is the operation that a Value performs.
type Op uint8

const (
	Invalid Op = iota

	// Values without operands.
	OpConst   // Aux: the bits (Bool: 0 or 1; F16 to F64: IEEE encoding; Ptr: 0 is nil)
	OpUndef   // any value; only for variables that are never read
	OpParam   // Aux: the index of a Part, counted across all parameters
	OpSpecial // Sym: a special register such as %tid.x; Aux: 1 if it is constant for a thread
	OpSlot    // address of a slot, of type PtrTo(Local); Aux: index into Func.Slots
	OpGlobal  // address of the module variable Var, in the variable's space

	OpPhi     // at the start of a block; Args in the order of Block.Preds
	OpExtract // Args: a tuple; Aux: index of the result
	OpSelect  // Args: a Bool, the value if true, the value if false
	OpCopy    // Args: x. Exists only between passes
	OpPin     // Args: x. An explicit conversion in Go: rounds x, so it must not be fused

	// Integer operations. Both operands have the type of the result. Shift counts are unsigned I32
	// values. If the count is at least the width, the result is 0, or the sign bit repeated for
	// AShr.
	OpAdd
	OpSub
	OpMul
	OpSDiv // MinInt / -1 is MinInt. Lowering adds the check for division by zero.
	OpUDiv
	OpSRem // MinInt % -1 is 0
	OpURem
	OpAnd // also for Bool
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
	OpMulWideS // I32 x I32, result I64
	OpMulWideU
	OpClz  // result I32
	OpPopc // result I32
	OpBrev
	OpBswap // I32
	OpNot   // also for Bool
	// OpFunnel, for I32, is the upper word of the 64 bits high:low, shifted left by the I32 count modulo
	// 32. For I64, the words have 64 bits, and the count is a constant from 1 to 63. Args: high, low,
	// count. It is a rotation if high and low are the same.
	OpFunnel
	OpLop3 // I32: bit 4a+2b+c of Aux, for each three bits a, b and c of the operands

	// Conversions between integer widths.
	OpSExt8  // I32 to I32
	OpSExt16 // I32 to I32
	OpZExt8
	OpZExt16
	OpSExt32 // I32 to I64
	OpZExt32
	OpTrunc // I64 to I32

	// Comparisons, whose result is Bool. Aux: a Cond.
	OpICmp // for I32, I64 and Ptr, and for Bool with Eq and Ne
	OpFCmp // if an operand is NaN, Ne is true and the other conditions are false

	// Floating-point operations, which round to nearest even unless Round specifies another mode.
	OpFAdd
	OpFSub
	OpFMul
	OpFDiv
	OpFMA
	OpFNeg
	OpFAbs
	OpFSqrt
	OpFMin    // Go's min: NaN if either operand is NaN; -0 is less than +0
	OpFMax    // Go's max
	OpFInt    // rounds to an integral value; Aux: a Round
	OpSToF    // signed integer to float
	OpUToF    // unsigned integer to float
	OpFToS    // float to signed integer; Aux: a Round, normally RZ. Saturates; NaN becomes 0
	OpFToU    // float to unsigned integer, otherwise like OpFToS
	OpFConv   // between floating-point types
	OpBitcast // I32 and F32, I64 and F64, I32 and F16 or BF16 (low half, upper half 0), I64 and Ptr

	// Addresses and memory. For loads and stores, Aux is a constant offset in bytes.
	OpPtrAdd    // Args: Ptr, I64 offset
	OpSpaceCast // Args: Ptr. Converts to Generic, or from Generic if the space is known
	OpLoad      // Args: Ptr. Mem, Hint
	OpStore     // Args: Ptr, value. Mem, Hint
	OpLoadV     // Args: Ptr. Mem; loads N values as a tuple; must be aligned to N*size
	OpStoreV    // Args: Ptr, values... Both can have another argument, a Bool. If it is false, the vector need not be aligned.
	OpAtomic    // Args: Ptr, value. Atomic; returns the old value
	OpCAS       // Args: Ptr, old, new. Atomic; returns the old value
	OpFence     // Aux: a Scope. Atomic.Order

	// Control flow within a block.
	OpCheck // Args: Bool, then up to three I64 values for the fault record. Site
	OpCall  // Callee; Args
	// OpAsm is PTX text: an intrinsic or inline PTX. Sym contains statements, each of which ends
	// with a semicolon. In the text, $0, $1 and so on stand for the results (one of type Type, or
	// those in Tuple), and %0, %1 and so on stand for Args. Constant arguments become immediates.
	// Names declared in braces are local. Effect and Divergent state what passes must respect.
	OpAsm

	numOps
)

// Cond is the condition of a comparison.
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

// Inverse contains the condition that holds if another one does not. The orders of floating-point numbers have none,
// because of NaN.
var Inverse = [...]Cond{Eq: Ne, Ne: Eq, SLt: SGe, SLe: SGt, SGt: SLe, SGe: SLt, ULt: UGe, ULe: UGt, UGt: ULe, UGe: ULt}

// Round is a rounding mode.
type Round int64

const (
	RN Round = iota // to nearest, ties to even
	RZ              // toward zero
	RM              // toward negative infinity
	RP              // toward positive infinity
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

// RMW is an atomic read-modify-write operation.
type RMW uint8

const (
	RMWAdd RMW = iota // integers and floats
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
	RMWLoad  // OpAtomic without a value operand
	RMWStore // OpAtomic without a result
)

// Atomic describes an atomic operation.
type Atomic struct {
	Op    RMW
	Scope Scope
	Order Order
}

// Effect is a set of effects that passes must respect.
type Effect uint8

const (
	Reads      Effect = 1 << iota // reads memory
	Writes                        // writes memory
	Convergent                    // see the package documentation
	Faults                        // may end the thread
	Varies                        // can return a different result each time: a clock, an active mask
	Fences                        // acts as a fence for plain accesses
)

// Pure reports whether an instruction with these effects may be removed, merged and moved.
func (e Effect) Pure() bool { return e == 0 }

var opNames = [numOps]string{
	"invalid", "const", "undef", "param", "special", "slot", "global", "phi", "extract", "select", "copy", "pin",
	"add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "and", "or", "xor", "shl", "lshr", "ashr", "smin", "smax", "umin", "umax",
	"mulhi.s", "mulhi.u", "mulwide.s", "mulwide.u", "clz", "popc", "brev", "bswap", "not", "funnel", "lop3",
	"sext8", "sext16", "zext8", "zext16", "sext32", "zext32", "trunc",
	"icmp", "fcmp",
	"fadd", "fsub", "fmul", "fdiv", "fma", "fneg", "fabs", "fsqrt", "fmin", "fmax", "fint", "stof", "utof", "ftos", "ftou", "fconv", "bitcast",
	"ptradd", "spacecast", "load", "store", "loadv", "storev", "atomic", "cas", "fence",
	"check", "call", "asm",
}

func (op Op) String() string { return opNames[op] }

// Commutes reports whether op is commutative.
func (op Op) Commutes() bool {
	switch op {
	case OpAdd, OpMul, OpAnd, OpOr, OpXor, OpSMin, OpSMax, OpUMin, OpUMax, OpMulHiS, OpMulHiU, OpMulWideS, OpMulWideU, OpFAdd, OpFMul, OpFMin, OpFMax:
		return true
	}
	return false
}
