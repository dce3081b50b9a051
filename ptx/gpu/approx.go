package gpu

import "github.com/purecuda/cuda/internal/softfloat"

// The functions in this file map to the approximate instructions of the hardware. NVIDIA's PTX
// documentation lists their maximum errors. Results may differ between GPU architectures. Under
// Run, the functions return the same results as on the emulator.

// ApproxSin returns an approximate sine (sin.approx.f32). It is inaccurate for large x.
//
//gpu:intrinsic
func ApproxSin(x float32) float32 { return approx(x, "sin") }

// ApproxCos returns an approximate cosine (cos.approx.f32). It is inaccurate for large x.
//
//gpu:intrinsic
func ApproxCos(x float32) float32 { return approx(x, "cos") }

// ApproxExp2 returns an approximation of 2 to the power of x (ex2.approx.f32).
//
//gpu:intrinsic
func ApproxExp2(x float32) float32 { return approx(x, "ex2") }

// ApproxLog2 returns an approximate binary logarithm (lg2.approx.f32).
//
//gpu:intrinsic
func ApproxLog2(x float32) float32 { return approx(x, "lg2") }

// ApproxRcp returns an approximation of 1/x (rcp.approx.f32).
//
//gpu:intrinsic
func ApproxRcp(x float32) float32 { return approx(x, "rcp") }

// ApproxRsqrt returns an approximation of 1/sqrt(x) (rsqrt.approx.f32).
//
//gpu:intrinsic
func ApproxRsqrt(x float32) float32 { return approx(x, "rsqrt") }

// ApproxSqrt returns an approximate square root (sqrt.approx.f32).
//
//gpu:intrinsic
func ApproxSqrt(x float32) float32 { return approx(x, "sqrt") }

// ApproxTanh returns an approximate hyperbolic tangent (tanh.approx.f32). It requires sm_75.
//
//gpu:intrinsic
func ApproxTanh(x float32) float32 { return approx(x, "tanh") }

// ApproxDiv returns an approximation of x/y (div.approx.f32). If y is finite and its magnitude is
// above 2^126, the result for a finite x is 0.
//
//gpu:intrinsic
func ApproxDiv(x, y float32) float32 { return softfloat.DivApprox(x, y, softfloat.RN) }

// The functions whose names end in FTZ replace subnormal arguments and results with zeros of the
// same sign. Each is a single hardware instruction. The other functions need several instructions,
// because they scale numbers that may be subnormal.

// ApproxExp2FTZ is ApproxExp2 with subnormal numbers flushed to zero (ex2.approx.ftz.f32).
//
//gpu:intrinsic
func ApproxExp2FTZ(x float32) float32 { return flush(approx(flush(x), "ex2")) }

// ApproxLog2FTZ is ApproxLog2 with subnormal numbers flushed to zero (lg2.approx.ftz.f32).
//
//gpu:intrinsic
func ApproxLog2FTZ(x float32) float32 { return flush(approx(flush(x), "lg2")) }

// ApproxRcpFTZ is ApproxRcp with subnormal numbers flushed to zero (rcp.approx.ftz.f32).
//
//gpu:intrinsic
func ApproxRcpFTZ(x float32) float32 { return flush(approx(flush(x), "rcp")) }

// ApproxRsqrtFTZ is ApproxRsqrt with subnormal numbers flushed to zero (rsqrt.approx.ftz.f32).
//
//gpu:intrinsic
func ApproxRsqrtFTZ(x float32) float32 { return flush(approx(flush(x), "rsqrt")) }

// ApproxExp returns an approximation of e to the power of x, computed with ApproxExp2.
func ApproxExp(x float32) float32 { return ApproxExp2(float32(x * 1.4426950408889634)) }

// ApproxLog returns an approximate natural logarithm, computed with ApproxLog2.
func ApproxLog(x float32) float32 { return float32(ApproxLog2(x) * 0.6931471805599453) }
