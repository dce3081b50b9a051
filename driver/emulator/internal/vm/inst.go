package vm

// lanes is the number of threads in a warp.
const lanes = 32

// full is the mask of a warp with all lanes active.
const full = ^uint32(0)

type (
	col32 = [lanes]uint32
	col64 = [lanes]uint64
)

// execFunc executes one instruction for the lanes in m.
type execFunc func(w *warp, in *inst, m uint32)

// inst is one decoded instruction. The meaning of a, b, c and d depends on exec. They are usually
// indices of columns in the frame's bank of that width.
type inst struct {
	exec   execFunc
	d      uint32 // destination
	a      uint32
	b      uint32
	c      uint32
	imm    uint64
	guard  uint32 // predicate, if guardKind says so
	kind   guardKind
	ctl    ctlKind // other than ctlNone: the scheduler executes it
	aux    uint16
	target int32 // branch target, callee
	slot   int32 // of the CTA's region cache, for memory instructions
	x      *extra
}

// extra holds fields that few instructions need.
type extra struct {
	regs  []uint32 // more columns: vector elements, further operands
	wide  []bool   // regs[i] is in the 64-bit bank
	n     int
	table []int32 // brx.idx targets
	fn    *function
	// caller is the function that contains a call.
	caller *function
	from   *inst // the source of a copy
	sync   *syncOp
}

type guardKind uint8

const (
	guardNone guardKind = iota
	guardIf
	guardNot
)

// ctlKind marks the instructions that change which lanes run where.
type ctlKind uint8

const (
	ctlNone ctlKind = iota
	ctlBranch
	ctlTable // brx.idx
	ctlExit
	ctlCall
	ctlCallIndirect
	ctlReturn
	ctlBarrier     // bar.sync, bar.red, bar.arrive
	ctlWarpBarrier // bar.warp.sync
	ctlSync        // shfl.sync, vote.sync, match.sync, redux.sync
	ctlYield       // nanosleep: let others run
	ctlCounted     // any of them, in a program that counts
)

// lineInfo says where an instruction comes from. It is separate from inst because only reports read
// it.
type lineInfo struct {
	line int32 // in the PTX text
	file int32 // index of the source module
	loc  int32 // index+1 into the program's source places
	op   int32 // index+1 into the opcodes, where a PTX instruction begins
	// order is how the instruction orders memory between blocks.
	order memoryOrder
}

// class is the bank that a virtual register belongs to.
type class uint8

const (
	class32 class = iota
	class64
	classPred
	numClasses
)

// reg is a virtual register while a function is being lowered, and the index
// of a column or predicate afterwards.
type reg struct {
	class class
	id    uint32
}

// ref is one mention of a virtual register by an instruction. field is the place in the instruction
// for the column's index.
type ref struct {
	field field
	reg   reg
	def   bool
}

// field names a place in an inst where a register index is kept.
type field int16

const (
	fieldD field = iota
	fieldA
	fieldB
	fieldC
	fieldGuard
	fieldX // fieldX+i is x.regs[i]
)

// set stores the column index i in field f.
func (in *inst) set(f field, i uint32) {
	switch f {
	case fieldD:
		in.d = i
	case fieldA:
		in.a = i
	case fieldB:
		in.b = i
	case fieldC:
		in.c = i
	case fieldGuard:
		in.guard = i
	default:
		in.x.regs[f-fieldX] = i
	}
}

// get returns the column index in field f.
func (in *inst) get(f field) uint32 {
	switch f {
	case fieldD:
		return in.d
	case fieldA:
		return in.a
	case fieldB:
		return in.b
	case fieldC:
		return in.c
	case fieldGuard:
		return in.guard
	}
	return in.x.regs[f-fieldX]
}

// function is a function of a program: the place of its code and the resources of its frame.
type function struct {
	name   string
	id     int // for function pointers, module-wide
	entry  int32
	banks  [numClasses]uint32 // columns of each class
	local  uint32             // bytes of local memory, parameters included
	consts []constant         // columns that hold constants
	rets   []slotLayout
	params []slotLayout
	retPC  uint32 // 32-bit column with the return address
	ext    Extern
	// builtin is set for functions of the engine, such as vprintf.
	builtin builtin
}

// slotLayout is a parameter's place in a frame's local memory.
type slotLayout struct{ offset, size, align uint32 }

// constant is a column that holds the same value in all lanes.
type constant struct {
	reg   reg
	value uint64
	// dynamic means that value is an offset into dynamic shared memory. Its start is known when all
	// static variables have been placed.
	dynamic bool
}

// program is a kernel with all functions that it can reach.
type program struct {
	code    []inst
	lines   []lineInfo
	locs    []string
	files   []string
	sources []string // text of each file, for reports
	ops     []string // opcodes
	funcs   []*function
	byID    map[int]*function
	slots   int32
	cluster map[int32]bool // slots of the instructions with .shared::cluster
	looks   map[int32]bool // slots of the instructions that wait for mbarrier objects
	reserve bool           // some instruction reads a register about reserved shared memory
}
