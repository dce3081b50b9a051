package mathtest

import (
	"math"
	"math/rand/v2"
)

// Draw64 returns a random argument. Half of the arguments are random bit patterns or cover wide
// ranges. The other arguments are near points where functions are difficult to compute.
func Draw64(r *rand.Rand) float64 {
	sign := 1 - 2*float64(r.IntN(2))
	tiny := math.Ldexp(r.Float64(), -r.IntN(60)) * (1 - 2*float64(r.IntN(2)))
	switch r.IntN(12) {
	case 0, 1:
		return math.Float64frombits(r.Uint64())
	case 2:
		return sign * math.Exp(3*r.NormFloat64())
	case 3:
		return sign * r.Float64()
	case 4:
		return sign * r.Float64() * 8
	case 5:
		return sign * r.Float64() * 40
	case 6:
		return sign * r.Float64() * 800
	case 7:
		return sign + tiny
	case 8:
		return float64(r.IntN(400)-200)/2 + tiny
	case 9:
		return float64(r.IntN(1<<r.IntN(30))) * math.Pi / 4 * (1 + tiny*0x1p-40)
	case 10:
		return sign * math.Ldexp(1+r.Float64(), r.IntN(80)-70)
	}
	return sign * math.Pow(2, float64(r.IntN(2000)-1000)/4)
}

// Special64 lists the arguments for which functions have special results, and their neighbors.
func Special64() []float64 {
	var list []float64
	for _, x := range []float64{
		0, 0x1p-1074, 0x1p-1022, 0x1p-1000, 0x1p-540, 0x1p-54, 0x1p-27, 0.25, 0.5, 1, 1.5, 2, 3, 4, 10, 27, 100, 170, 171,
		709.78, 709.782712893384, 710.4758600739439, 745.1332191019411, 1023, 1024, 1074, 1075, 0x1p30, 0x1p52, 0x1p53, 0x1p64, 0x1p500, 0x1p1000,
		math.MaxFloat64, math.Inf(1), math.Pi, math.Pi / 2, math.Pi / 4, math.Ln2, math.E, math.Sqrt2,
	} {
		for _, y := range []float64{x, math.Nextafter(x, 0), math.Nextafter(x, math.Inf(1))} {
			list = append(list, y, -y)
		}
	}
	return append(list, math.NaN(), math.Copysign(0, -1))
}
