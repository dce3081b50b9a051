package softfloat

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// operand returns a random float64. Many have few bits, so that results are exact, are halfway
// between two float64 values, or cancel.
func operand(r *rand.Rand) float64 {
	sig := r.Uint64() >> (11 + r.IntN(53))
	exp := r.IntN(120) - 60
	switch r.IntN(8) {
	case 0:
		exp = r.IntN(2000) - 1000
	case 1:
		exp = -950 + r.IntN(120)
	}
	x := math.Ldexp(float64(sig), exp-r.IntN(53))
	if r.IntN(2) == 0 {
		return -x
	}
	return x
}

func TestQuickRestsAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	known := make(map[string]int)
	judge := func(what string, rest int, ok bool, want *big.Float, y float64, xs ...float64) {
		t.Helper()
		if !ok || math.IsInf(y, 0) {
			return
		}
		known[what]++
		if w := want.Cmp(exact(y)); rest != w {
			t.Fatalf("%s of %x: the exact result is on side %d of %x, not %d", what, xs, w, y, rest)
		}
	}
	wide := func() *big.Float { return new(big.Float).SetPrec(exactBits) }
	const rounds = 3000
	for range rounds {
		a, b, c := operand(r), operand(r), operand(r)
		y := a + b
		rest, ok := restOfSum(a, b, y)
		judge("sum", rest, ok, wide().Add(exact(a), exact(b)), y, a, b)
		y = float64(a * b)
		rest, ok = restOfProduct(a, b, y)
		judge("product", rest, ok, wide().Mul(exact(a), exact(b)), y, a, b)
		if r.IntN(2) == 0 {
			c = -math.Float64frombits(math.Float64bits(y) + uint64(r.IntN(5)) - 2)
		}
		if !finite(c) {
			continue
		}
		y = math.FMA(a, b, c)
		rest, ok = restOfFMA(a, b, c, y)
		product := wide().Mul(exact(a), exact(b))
		judge("fma", rest, ok, product.Add(product, exact(c)), y, a, b, c)
		if b != 0 {
			y = a / b
			rest, ok = restOfQuotient(a, b, y)
			judge("quotient", rest, ok, wide().Quo(exact(a), exact(b)), y, a, b)
		}
		a = math.Abs(a)
		y = math.Sqrt(a)
		rest, ok = restOfRoot(a, y)
		judge("root", rest, ok, wide().Sqrt(exact(a)), y, a)
	}
	for _, what := range []string{"sum", "product", "fma", "quotient", "root"} {
		if known[what] < rounds/2 {
			t.Errorf("%s: known in %d of %d cases", what, known[what], rounds)
		}
	}
}
