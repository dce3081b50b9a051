package math32

import "github.com/purecuda/cuda/ptx/gpu"

// FastExp returns an approximation of e to the power of x. The relative error is about 2^-22 plus
// 2^-24·|x|.
func FastExp(x float32) float32 { return gpu.ApproxExp2(float32(x * log2e)) }

// FastExp2 returns an approximation of 2 to the power of x. The relative error is at most 2^-22.
func FastExp2(x float32) float32 { return gpu.ApproxExp2(x) }

// FastLog returns an approximation of the natural logarithm of x. The absolute error is at most
// 2^-21.4 for x between 0.5 and 2. Elsewhere, the error is at most 3 ulp.
func FastLog(x float32) float32 { return float32(gpu.ApproxLog2(x) * ln2Rounded) }

// FastLog2 returns an approximation of the binary logarithm of x. The absolute error is at most
// 2^-22 for x between 0.5 and 2. Elsewhere, the relative error is at most 2^-22.
func FastLog2(x float32) float32 { return gpu.ApproxLog2(x) }

// FastLog10 returns an approximation of the decimal logarithm of x. The errors are those of FastLog.
func FastLog10(x float32) float32 { return float32(gpu.ApproxLog2(x) * 0x1.344136p-02) }

// FastPow returns an approximation of x to the power of y, for positive x. The relative error is
// about 2^-22·|y·log2(x)|, and about 2^-22·|y| for x between 0.5 and 2. If x is near 1 and |y| is
// above 2^20, the result may have no correct digits, and can even be 0 or infinite.
func FastPow(x, y float32) float32 { return gpu.ApproxExp2(float32(y * gpu.ApproxLog2(x))) }

// FastSin returns an approximation of the sine of x. The absolute error is at most 2^-20.5 for x
// between -π and π, and grows with |x|.
func FastSin(x float32) float32 { return gpu.ApproxSin(x) }

// FastCos returns an approximation of the cosine of x. The absolute error is at most 2^-20.5 for x
// between -π and π, and grows with |x|.
func FastCos(x float32) float32 { return gpu.ApproxCos(x) }

// FastSincos returns FastSin(x) and FastCos(x).
func FastSincos(x float32) (sin, cos float32) { return gpu.ApproxSin(x), gpu.ApproxCos(x) }

// FastTan returns an approximation of the tangent of x, computed as the quotient of FastSin and
// FastCos.
func FastTan(x float32) float32 { return float32(gpu.ApproxSin(x) * gpu.ApproxRcp(gpu.ApproxCos(x))) }

// FastTanh returns an approximation of the hyperbolic tangent of x. The relative error is at most
// 2^-11. It requires sm_75.
func FastTanh(x float32) float32 { return gpu.ApproxTanh(x) }

// FastSqrt returns an approximation of the square root of x. The relative error is at most 2^-23.
func FastSqrt(x float32) float32 { return gpu.ApproxSqrt(x) }

// FastRsqrt returns an approximation of 1 divided by the square root of x. The relative error is at
// most 2^-22.9.
func FastRsqrt(x float32) float32 { return gpu.ApproxRsqrt(x) }

// FastDiv returns an approximation of x/y. The error is at most 2 ulp if y is between 2^-126 and
// 2^126 in magnitude.
func FastDiv(x, y float32) float32 { return gpu.ApproxDiv(x, y) }
