package loader

import (
	"math"
	"unsafe"
)

// FloatArg, shifted left by i and added to Call.N, says that argument i is a
// float or a double: C takes it in a vector register. Its word holds the bits, a
// float's in the lower half. The first [MaxFloatArgs] arguments can be one.
//
//	loader.Call{Proc: &pow, N: 2 + loader.FloatArg<<0 + loader.FloatArg<<1 + loader.FloatResult}
const FloatArg = 1 << 8

// FloatResult, added to Call.N, says that the result is a float or a double.
// Call.Ret holds its bits then, a float's in the lower half.
const FloatResult = 1 << 31

// MaxFloatArgs is how many of a call's first arguments can be floating-point
// numbers.
const MaxFloatArgs = 23

// PassesFloats reports whether this build can pass floating-point numbers to C.
// Where it cannot, a call with FloatArg or FloatResult is not made and returns
// [Missing]. It can on amd64 and arm64, unless the build has the tag static. Go
// functions take them everywhere.
func PassesFloats() bool { return passesFloats }

// count is the number of argument words.
func (c *Call) count() uintptr { return c.N & (FloatArg - 1) }

//lint:ignore U1000 builds for other systems use it

// isFloat reports whether argument i is a floating-point number.
func (c *Call) isFloat(i int) bool { return i < MaxFloatArgs && c.N&(FloatArg<<i) != 0 }

// hasFloats reports whether an argument or the result is a floating-point number.
func (c *Call) hasFloats() bool { return c.N >= FloatArg }

//lint:ignore U1000 builds for other systems use it

// words are the arguments, in C's order.
func (c *Call) words() []uintptr { return unsafe.Slice((*uintptr)(c.args()), c.count()) }

// Float32 returns argument i as a float.
func (a Args) Float32(i int) float32 { return math.Float32frombits(a.Uint32(i)) }

// Float64 returns argument i as a double.
func (a Args) Float64(i int) float64 { return math.Float64frombits(a.Uint64(i)) }
