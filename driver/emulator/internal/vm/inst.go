package vm

import (
	"strings"

	"github.com/purecuda/cuda/internal/softfloat"
	"github.com/purecuda/cuda/ptx"
)

const lanes = 32

// full is the mask in which all lanes of a warp are active.
const full = ^uint32(0)

type (
	col32 = [lanes]uint32
	col64 = [lanes]uint64
)

// execFunc executes one instruction for the lanes in m.
type execFunc func(w *warp, in *inst, m uint32)

// inst is one decoded instruction. The meaning of a, b, c and d depends on exec. They are usually
// column indices in the frame's bank of the operand's width.
type inst struct {
	exec   execFunc
	d      uint32 // destination column
	a      uint32
	b      uint32
	c      uint32
	imm    uint64
	guard  uint32 // predicate, if guardKind is not guardNone
	kind   guardKind
	ctl    ctlKind // if not ctlNone, the scheduler executes the instruction
	aux    uint16
	target int32 // branch target or callee
	slot   int32 // index into the CTA's region cache, for memory instructions
	x      *extra
}

type extra struct {
	regs  []uint32 // additional columns, such as vector elements and operands
	wide  []bool   // whether regs[i] is in the 64-bit bank
	n     int
	table []int32 // branch targets of brx.idx
	fn    *function
	// caller is the function that contains this call.
	caller *function
	from   *inst // for a copy, the instruction that reads the source
	sync   *syncOp
}

type guardKind uint8

const (
	guardNone guardKind = iota
	guardIf
	guardNot
)

// ctlKind classifies instructions that change which lanes run or where they continue.
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
	ctlYield       // nanosleep, which lets other warps run
	ctlCounted     // a control instruction that tally.go wrapped to count it
)

// lineInfo is the origin of an instruction. It is separate from inst because only reports need it.
type lineInfo struct {
	line int32 // line in the PTX text
	file int32 // index of the source module
	loc  int32 // index+1 in the program's locs; 0 if the source line is unknown
	op   int32 // index+1 in the program's ops; 0 unless a PTX instruction begins here
	// order specifies how the instruction orders memory accesses between blocks.
	order memoryOrder
}

type class uint8

const (
	class32 class = iota
	class64
	classPred
	numClasses
)

// reg is a virtual register while a function is being lowered. After allocation, it is the index of
// a column or predicate.
type reg struct {
	class class
	id    uint32
}

// ref is one use of a virtual register by an instruction. field is the instruction field that
// receives the column's index.
type ref struct {
	field field
	reg   reg
	def   bool
}

type field int16

const (
	fieldD field = iota
	fieldA
	fieldB
	fieldC
	fieldGuard
	fieldX // fieldX+i stands for x.regs[i]
)

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

// function is a function within a program: its position in the code and the resources of its frame.
type function struct {
	name   string
	id     int // module-wide number, used by function pointers
	entry  int32
	banks  [numClasses]uint32 // number of columns in each class
	local  uint32             // number of bytes of local memory, including parameters
	consts []constant         // columns that hold constants
	rets   []slotLayout
	params []slotLayout
	retPC  uint32 // 32-bit column that holds the return address
	ext    Extern
	// builtin is set for functions that the engine provides, such as vprintf.
	builtin builtin
}

// slotLayout is the position of a parameter in a frame's local memory.
type slotLayout struct{ offset, size, align uint32 }

// constant is a column with the same value in all lanes.
type constant struct {
	reg   reg
	value uint64
	// dynamic means that value is an offset into dynamic shared memory, whose start is known only
	// after all static variables have been placed.
	dynamic bool
}

// program is the code of a kernel and of all functions that it can reach.
type program struct {
	code    []inst
	lines   []lineInfo
	locs    []string
	files   []string
	sources []string // text of each file, for reports
	ops     []string // the opcodes that the program contains
	funcs   []*function
	byID    map[int]*function
	slots   int32
	cluster map[int32]bool // slots of the instructions with .shared::cluster
	looks   map[int32]bool // slots of the instructions that test mbarrier objects
	reserve bool           // an instruction reads a special register about reserved shared memory
}

// form holds an opcode's modifiers, sorted by category.
type form struct {
	op     *ptx.Opcode
	types  []ptx.Type
	flags  flag
	round  rounding
	cmp    string // comparison of setp and set, in lower case: "lt", "geu"
	bool   string // Boolean operation: "and", "or", "xor"
	space  ptx.Space
	spaces int
	vec    int
	sem    string // memory semantics: "relaxed", "acquire", "release", "acq_rel", "sc", "weak", "volatile", "mmio"
	scope  string // scope of the memory semantics: "cta", "cluster", "gpu", "sys"
	rest   []string
}

type flag uint32

const (
	flagFtz flag = 1 << iota
	flagSat
	flagApprox
	flagFull
	flagWide
	flagHi
	flagLo
	flagCC
	flagUni
	flagSync
	flagAligned
	flagRelu
	flagNaN
	flagXorSign
	flagAbs
	flagNC
	flagSatFinite
	flagOOB
)

type rounding = softfloat.Mode

const (
	roundNone = softfloat.None
	roundRN   = softfloat.RN
	roundRZ   = softfloat.RZ
	roundRM   = softfloat.RM
	roundRP   = softfloat.RP
	roundRNA  = softfloat.RNA
	roundRS   = roundRNA + 1
	roundInt  = roundRNA + 2 // added to one of the directions above for .rni, .rzi, .rmi and .rpi
)

var flagNames = map[string]flag{
	"ftz": flagFtz, "sat": flagSat, "approx": flagApprox, "full": flagFull, "wide": flagWide, "hi": flagHi, "lo": flagLo,
	"cc": flagCC, "uni": flagUni, "sync": flagSync, "aligned": flagAligned, "relu": flagRelu, "NaN": flagNaN,
	"abs": flagAbs, "nc": flagNC, "satfinite": flagSatFinite, "oob": flagOOB,
}

var roundNames = map[string]rounding{
	"rn": roundRN, "rz": roundRZ, "rm": roundRM, "rp": roundRP, "rna": roundRNA, "rs": roundRS,
	"rni": roundRN + roundInt, "rzi": roundRZ + roundInt, "rmi": roundRM + roundInt, "rpi": roundRP + roundInt,
}

var comparisons = map[string]bool{
	"eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true, "ls": true, "hs": true,
	"equ": true, "neu": true, "ltu": true, "leu": true, "gtu": true, "geu": true, "num": true, "nan": true,
}

var semantics = map[string]bool{
	"relaxed": true, "acquire": true, "release": true, "acq_rel": true, "sc": true, "weak": true, "volatile": true, "mmio": true,
}

var scopes = map[string]bool{"cta": true, "cluster": true, "gpu": true, "sys": true, "gl": true}

// parseForm sorts an opcode's modifiers into a form. Unknown modifiers go into rest.
func parseForm(op *ptx.Opcode) *form {
	f := &form{op: op}
	for _, m := range op.Mods {
		f.add(m)
	}
	return f
}

func (f *form) add(m string) {
	if t := ptx.ParseType(m); t != ptx.NoType {
		f.types = append(f.types, t)
		return
	}
	comparing := f.op.Name == "setp" || f.op.Name == "set"
	if b, ok := flagNames[m]; ok && !(comparing && (m == "lo" || m == "hi")) {
		f.flags |= b
		return
	}
	if r, ok := roundNames[m]; ok && f.round == roundNone {
		f.round = r
		return
	}
	if comparisons[m] || comparing && (m == "lo" || m == "hi") {
		f.cmp = m
		return
	}
	switch m {
	case "and", "or", "xor":
		if comparing {
			f.bool = m
			return
		}
	case "v2":
		f.vec = 2
		return
	case "v4":
		f.vec = 4
		return
	case "v8":
		f.vec = 8
		return
	}
	if semantics[m] {
		f.sem = m
		return
	}
	if scopes[m] {
		f.scope = m
		return
	}
	if s, ok := ptx.ParseSpace(m); ok && (m == s.String() || strings.HasPrefix(m, s.String()+"::")) {
		if f.spaces == 0 {
			f.space = s
		}
		f.spaces++
		f.rest = appendQualified(f.rest, m)
		return
	}
	f.rest = append(f.rest, m)
}

// appendQualified appends m to rest if it is shared::cluster, because the form's space does not
// distinguish it from shared.
func appendQualified(rest []string, m string) []string {
	switch m {
	case "shared::cluster":
		return append(rest, m)
	}
	return rest
}

// typ returns the last type, which is the type of the instruction itself. If there is none, it
// returns NoType.
func (f *form) typ() ptx.Type {
	if len(f.types) == 0 {
		return ptx.NoType
	}
	return f.types[len(f.types)-1]
}

func (f *form) has(b flag) bool { return f.flags&b != 0 }

// only reports whether the form has no unknown modifiers and no flags except those in b.
func (f *form) only(b flag) bool { return f.flags&^b == 0 && len(f.rest) == 0 }
