package main

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx"
)

// cudaSource contains the equivalent kernels in CUDA C++.
//
//go:embed math.cu
var cudaSource string

// function is a function of both libraries and the range of its arguments.
type function struct {
	name     string
	two      bool // whether the function has a second argument, whose value is sum - x
	from, to float64
	sum      float64
	bar      bool // whether the float32 function may take at most 1.1 times as long as CUDA's
}

var functions = []function{
	{name: "Exp", from: -10, to: 10, bar: true},
	{name: "Exp2", from: -10, to: 10, bar: true},
	{name: "Log", from: 0.1, to: 100, bar: true},
	{name: "Pow", two: true, from: 0.1, to: 10, sum: 5, bar: true},
	{name: "Sin", from: -10, to: 10, bar: true},
	{name: "Cos", from: -10, to: 10, bar: true},
	{name: "Tan", from: -10, to: 10, bar: true},
	{name: "Tanh", from: -3, to: 3, bar: true},
	{name: "Erf", from: -3, to: 3, bar: true},
	{name: "Cbrt", from: -100, to: 100, bar: true},
	{name: "Hypot", two: true, from: -100, to: 100, sum: 3, bar: true},
	{name: "Expm1", from: -3, to: 3},
	{name: "Log2", from: 0.1, to: 100},
	{name: "Log10", from: 0.1, to: 100},
	{name: "Log1p", from: -0.9, to: 10},
	{name: "Sinpi", from: -10, to: 10},
	{name: "Cospi", from: -10, to: 10},
	{name: "Asin", from: -1, to: 1},
	{name: "Acos", from: -1, to: 1},
	{name: "Atan", from: -3, to: 3},
	{name: "Atan2", two: true, from: -3, to: 3, sum: 1},
	{name: "Sinh", from: -5, to: 5},
	{name: "Cosh", from: -5, to: 5},
	{name: "Asinh", from: -5, to: 5},
	{name: "Acosh", from: 1, to: 10},
	{name: "Atanh", from: -1, to: 1},
	{name: "Erfc", from: -3, to: 3},
	{name: "Rcbrt", from: -100, to: 100},
	{name: "Sqrt", from: 0.1, to: 100},
	{name: "Rsqrt", from: 0.1, to: 100},
	{name: "Mod", two: true, from: -100, to: 100, sum: 3},
}

// goSource returns kernels for all functions. Each thread combines the bits of the results of 4·n
// calls, so that the compiler can omit neither the computation nor the rounding.
func goSource() string {
	var b strings.Builder
	b.WriteString(`package kernels

import (
	stdmath "math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)
`)
	for _, f := range functions {
		for _, t := range []struct{ pkg, float, bits string }{{"math32", "float32", "32"}, {"math", "float64", "64"}} {
			call := func(x string) string {
				if f.two {
					return fmt.Sprintf("%s.%s(%s, sum-%s)", t.pkg, f.name, x, x)
				}
				return fmt.Sprintf("%s.%s(%s)", t.pkg, f.name, x)
			}
			fmt.Fprintf(&b, `
//gpu:kernel block=256
func %s%s(t gpu.Thread, out []FLOAT, from, size, step, sum FLOAT, n int) {
	i := t.GlobalX()
	if i >= len(out) {
		return
	}
	x0 := from + FLOAT(int32(uint32(i)*2654435769>>8))*5.9604644775390625e-8*size
	x1 := x0 + step
	x2 := x1 + step
	x3 := x2 + step
	var a, b, c, d uintBITS
	for range n {
		a ^= stdmath.FloatBITSbits(%s)
		b ^= stdmath.FloatBITSbits(%s)
		c ^= stdmath.FloatBITSbits(%s)
		d ^= stdmath.FloatBITSbits(%s)
		x0, x1, x2, x3 = x0+step, x1+step, x2+step, x3+step
	}
	last := %s
	if a^b^c^d == 1 {
		last++
	}
	out[i] = last
}
`, f.name, t.bits, call("x0"), call("x1"), call("x2"), call("x3"), call("x0"))
			text := strings.ReplaceAll(b.String(), "FLOAT", t.float)
			text = strings.ReplaceAll(text, "BITS", t.bits)
			b.Reset()
			b.WriteString(text)
		}
	}
	return b.String()
}

func compile() ([]byte, error) {
	out, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{
		Path: "kernels", GoVersion: "1.25", Files: []go2ptx.File{{Name: "kernels.go", Data: []byte(goSource())}}}})
	if err != nil {
		return nil, err
	}
	return out.PTX, nil
}
