package math32

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

// On a device, each function in this file is a single instruction.

func fma(a, b, c float32) float32 { return num.FMA(a, b, c) }

// rcp is rcp.approx, whose relative error is at most 2^-23.
func rcp(x float32) float32 { return gpu.ApproxRcp(x) }

// The following functions flush subnormal arguments and results to zero. Each is a single hardware
// instruction.

func ex2Normal(x float32) float32 { return gpu.ApproxExp2FTZ(x) }

// lg2Normal has an absolute error of at most 2^-22 for x between 0.5 and 2, and a relative error of at
// most 2^-22 elsewhere.
func lg2Normal(x float32) float32 { return gpu.ApproxLog2FTZ(x) }

func rcpNormal(x float32) float32 { return gpu.ApproxRcpFTZ(x) }

func rsqrtNormal(x float32) float32 { return gpu.ApproxRsqrtFTZ(x) }

// rsqrt is rsqrt.approx, whose relative error is at most 2^-22.9.
func rsqrt(x float32) float32 { return gpu.ApproxRsqrt(x) }

func abs(x float32) float32 { return num.Abs(x) }

// withSign returns the non-negative number x with the sign of s.
func withSign(x, s float32) float32 {
	return math.Float32frombits(math.Float32bits(x) | math.Float32bits(s)&signBit)
}

const (
	signBit = 1 << 31
	infBits = 0x7f800000
	// Adding magic rounds a number below 2^22 to an integer. The low bits of the sum then contain
	// the integer.
	magic = 0x1.8p23
)

func inf() float32 { return math.Float32frombits(infBits) }

func nan() float32 { return math.Float32frombits(0x7fc00000) }
