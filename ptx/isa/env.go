package isa

import (
	"math"
	"strconv"

	"github.com/purecuda/cuda/ptx"
)

// env holds the registers and variables in scope at the current instruction.
type env struct {
	single map[string]entry
	ranges []ranged // ranges in declaration order
	mixed  int      // number of registers in single whose names could belong to a range
	undo   []undo
	depth  int32 // nesting depth of blocks
}

type entry struct {
	reg   regType
	v     *ptx.Variable // nil for a register
	depth int32
}

type regType struct {
	typ    ptx.Type
	vector int // number of elements: 2 or 4; 0 for a scalar
}

type ranged struct {
	prefix string
	reg    regType
	count  uint64
}

type undo struct {
	name   string
	ranged bool
	mixed  bool
	entry  entry
	there  bool
}

func (e *env) mark() int { return len(e.undo) }

// reset removes the declarations made since mark.
func (e *env) reset(mark int) {
	for len(e.undo) > mark {
		u := &e.undo[len(e.undo)-1]
		if u.mixed {
			e.mixed--
		}
		switch {
		case u.ranged:
			e.ranges = e.ranges[:len(e.ranges)-1]
		case u.there:
			e.single[u.name] = u.entry
		default:
			delete(e.single, u.name)
		}
		e.undo = e.undo[:len(e.undo)-1]
	}
}

func (e *env) declare(name string, count int, r regType) {
	if count == 0 {
		e.put(name, entry{reg: r})
		return
	}
	e.undo = append(e.undo, undo{ranged: true})
	e.ranges = append(e.ranges, ranged{name, r, uint64(count)})
}

func (e *env) put(name string, n entry) {
	if e.single == nil {
		e.single = map[string]entry{}
	}
	old, there := e.single[name]
	mixed := n.v == nil && endsInDigit(name)
	if mixed {
		e.mixed++
	}
	e.undo = append(e.undo, undo{name: name, entry: old, there: there, mixed: mixed})
	n.depth = e.depth + 1
	e.single[name] = n
}

// maxNumbered limits the n in v<n> for variables. Real programs use far smaller numbers.
const maxNumbered = 1 << 16

func (e *env) variable(v *ptx.Variable) {
	for i := range max(min(v.Count, maxNumbered), 1) {
		e.put(numbered(v.Name, v.Count, i), entry{v: v})
	}
}

func numbered(name string, count, i int) string {
	if count == 0 {
		return name
	}
	return name + strconv.Itoa(i)
}

func (e *env) param(v *ptx.Variable) {
	if v.Space == ptx.RegSpace {
		e.declare(v.Name, v.Count, regType{v.Type, v.Vector})
		return
	}
	e.variable(v)
}

// register finds a declared register. Nearly all registers belong to a few ranges, which
// are searched linearly from the innermost scope outwards.
func (e *env) register(name string) (regType, bool) {
	if e.mixed > 0 || !endsInDigit(name) {
		if n, ok := e.single[name]; ok {
			return n.reg, n.v == nil
		}
	}
	for i := len(e.ranges) - 1; i >= 0; i-- {
		r := &e.ranges[i]
		n := len(r.prefix)
		if len(name) > n && name[:n] == r.prefix && index(name[n:]) < r.count {
			return r.reg, true
		}
	}
	return regType{}, false
}

func endsInDigit(name string) bool {
	c := name[len(name)-1]
	return c >= '0' && c <= '9'
}

// index parses the number of a register. If digits is not a number, index returns a number that no
// register has.
func index(digits string) uint64 {
	if digits[0] == '0' && len(digits) > 1 || len(digits) > 10 {
		return math.MaxUint64
	}
	n := uint64(0)
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 {
			return math.MaxUint64
		}
		n = 10*n + uint64(d)
	}
	return n
}

// local returns the variable or parameter of the current function with this name, or nil.
func (e *env) local(name string) *ptx.Variable { return e.single[name].v }

// here reports whether the current block declares the name.
func (e *env) here(name string) bool { return e.single[name].depth == e.depth+1 }
