package loader

import (
	"math"
	"unsafe"
)

// FloatArg, shifted left by i and added to Call.N, marks argument i as a float or a double, which C
// passes in a vector register. The argument's word holds the bits, those of a float in the lower
// half. Only the first [MaxFloatArgs] arguments can be marked.
//
//	loader.Call{Proc: &pow, N: 2 + loader.FloatArg<<0 + loader.FloatArg<<1 + loader.FloatResult}
const FloatArg = 1 << 8

// FloatResult, added to Call.N, marks the result as a float or a double. Call.Ret then holds its
// bits, those of a float in the lower half.
const FloatResult = 1 << 31

// MaxFloatArgs is the number of leading arguments that can be floating-point numbers.
const MaxFloatArgs = 23

// PassesFloats reports whether this build can pass floating-point numbers to C. Builds for amd64
// and arm64 can, unless they have the tag static. In other builds, a call with FloatArg or
// FloatResult does nothing and returns [Missing]. Go functions accept floating-point numbers in
// every build.
func PassesFloats() bool { return passesFloats }

// count returns the number of argument words.
func (c *Call) count() uintptr { return c.N & (FloatArg - 1) }

//lint:ignore U1000 builds for other systems use it

// isFloat reports whether argument i is a floating-point number.
func (c *Call) isFloat(i int) bool { return i < MaxFloatArgs && c.N&(FloatArg<<i) != 0 }

func (c *Call) hasFloats() bool { return c.N >= FloatArg }

//lint:ignore U1000 builds for other systems use it

// words returns the arguments in the order in which C declares them.
func (c *Call) words() []uintptr { return unsafe.Slice((*uintptr)(c.args()), c.count()) }

// Float32 returns argument i as a float.
func (a Args) Float32(i int) float32 { return math.Float32frombits(a.Uint32(i)) }

// Float64 returns argument i as a double.
func (a Args) Float64(i int) float64 { return math.Float64frombits(a.Uint64(i)) }
