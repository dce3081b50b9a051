package functions

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

// The functions in this file are for elements of 16 bits. Their relative errors are at most 2^-16, which is little
// beside the rounding to 16 bits, and they have few instructions. With more, they would be slower than memory.

// HalfExp returns exp(x).
func HalfExp(x float32) float32 { return gpu.ApproxExp2(float32(x * (1 / math.Ln2))) }

// HalfSigmoidExp returns exp(-x). Results below 2^-126 are 0.
func HalfSigmoidExp(x float32) float32 { return gpu.ApproxExp2FTZ(float32(x * (-1 / math.Ln2))) }

// HalfGELUTanhExp returns exp(GELUTanhArgument(x)). Results below 2^-126 are 0.
func HalfGELUTanhExp(x float32) float32 {
	return gpu.ApproxExp2FTZ(float32(x * num.FMA(float32(x*x), -0.07135481627260025/math.Ln2, -1.5957691216057308/math.Ln2)))
}

// HalfRsqrt returns 1/√x.
func HalfRsqrt(x float32) float32 { return gpu.ApproxRsqrt(x) }

// HalfLog returns the natural logarithm of x.
func HalfLog(x float32) float32 {
	// Near 1, the instruction has an absolute error of 2^-22, and too few digits are right.
	f := x - 1
	q := num.FMA(num.FMA(num.FMA(f, 0.2, -0.25), f, 1.0/3), f, -0.5)
	if num.Abs(f) < 0.0625 {
		return num.FMA(float32(f*f), q, f)
	}
	return float32(gpu.ApproxLog2(x) * math.Ln2)
}

// HalfTanh returns tanh(x).
func HalfTanh(x float32) float32 {
	// Near 0, the digits of 1 - 2/(1+e^2x) are lost.
	large := num.FMA(gpu.ApproxRcpFTZ(gpu.ApproxExp2FTZ(float32(x*(2/math.Ln2)))+1), -2, 1)
	s := float32(x * x)
	small := num.FMA(float32(s*num.FMA(s, 2.0/15, -1.0/3)), x, x)
	if num.Abs(x) < 0.125 {
		return small
	}
	return large
}

// HalfGELU returns x·Φ(x).
func HalfGELU(x float32) float32 {
	// For a = |x|, Φ(-a) is e^(-a²/2) times a polynomial of 1/(1+0.3a), whose relative error is at most 2^-19
	// for a up to 14.5. The factor 2^24 keeps tiny results from being flushed to 0.
	t := gpu.ApproxRcpFTZ(num.FMA(num.Abs(x), 0.3, 1))
	p := num.FMA(t, -0.0845927108104854, 0.2405711538222738)
	p = num.FMA(p, t, -0.04864238454056211)
	p = num.FMA(p, t, 0.16476320611172637)
	p = num.FMA(p, t, 0.10670494787455101)
	p = num.FMA(p, t, 0.12127463260058306)
	p = num.FMA(p, t, -7.978498486696078e-05)
	e := gpu.ApproxExp2FTZ(num.FMA(float32(x*x), -0.5/math.Ln2, 24))
	q := float32(float32(p*e) * 0x1p-24)
	if x >= 0 {
		q = 1 - q
	}
	return x * q
}
