package difftest

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// Operands returns the operands of all threads, one tuple after another. Even tuples combine edge
// values, and odd tuples are random.
func (f *Form) Operands() []uint64 {
	h := fnv.New64a()
	h.Write([]byte(f.Name))
	r := rand.New(rand.NewPCG(h.Sum64(), 580))
	n, g := len(f.In), f.grid()
	v := make([]uint64, n*Tuples)
	for i := range Tuples {
		t := v[i*n : i*n+n]
		if i%2 == 0 {
			g.tuple(t, uint64(i/2))
		} else {
			f.randomTuple(t, r)
		}
	}
	return v
}

// grid enumerates all combinations of a form's edge values in a mixed order. all is the number
// of combinations, and step is coprime to it. If all is at most half the number of tuples, every
// combination occurs.
type grid struct {
	lists     [][]uint64
	all, step uint64
}

func (f *Form) grid() grid {
	g := grid{all: 1}
	for _, in := range f.In {
		g.lists = append(g.lists, edges(kindOf(in)))
		g.all *= uint64(len(g.lists[len(g.lists)-1]))
	}
	g.step = g.all*618/1000 + 1
	for gcd(g.step, g.all) != 1 {
		g.step++
	}
	return g
}

func (g *grid) tuple(t []uint64, k uint64) {
	k = k * g.step % g.all
	for i, e := range g.lists {
		t[i] = e[k%uint64(len(e))]
		k /= uint64(len(e))
	}
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (f *Form) randomTuple(t []uint64, r *rand.Rand) {
	for i, in := range f.In {
		t[i] = random(kindOf(in), r)
		if i > 0 && kindOf(in) == kindOf(f.In[0]) && r.IntN(6) == 0 {
			t[i] = near(t[0], bitsOf(typeOf(in)), r) // often causes cancellation and ties
		}
	}
}

// near returns x changed by at most 2, possibly with the opposite sign bit.
func near(x uint64, bits int, r *rand.Rand) uint64 {
	x += uint64(r.IntN(5)) - 2
	if r.IntN(2) == 0 {
		x ^= 1 << (bits - 1)
	}
	return x & (1<<(bits-1)<<1 - 1)
}

// float describes a floating-point format.
type float struct{ exp, mant uint }

var floats = map[string]float{
	"f16": {5, 10}, "bf16": {8, 7}, "f32": {8, 23}, "f64": {11, 52}, "e4m3": {4, 3}, "e5m2": {5, 2},
}

// pairs maps the kinds of packed values to the kinds of their elements.
var pairs = map[string]struct {
	elem string
	bits uint
}{
	"f16x2": {"f16", 16}, "bf16x2": {"bf16", 16}, "u16x2": {"u16", 16}, "s16x2": {"s16", 16},
	"e4m3x2": {"e4m3", 8}, "e5m2x2": {"e5m2", 8},
}

// small maps kinds of bounded values to their upper bounds.
var small = map[string]int{"pred": 2, "shift": 70, "pos": 300, "lane": 40, "sel": 65536, "nibble": 16, "six": 64}

func random(kind string, r *rand.Rand) uint64 {
	if p, ok := pairs[kind]; ok {
		return random(p.elem, r) | random(p.elem, r)<<p.bits
	}
	if f, ok := floats[kind]; ok {
		return f.random(r)
	}
	if n, ok := small[kind]; ok {
		return uint64(r.IntN(n))
	}
	switch kind {
	case "f16nan", "bf16nan":
		e := edges(kind)
		return e[r.IntN(len(e))]
	case "f32int": // numbers around the range of the integer types
		return uint64(math.Float32bits(float32(r.NormFloat64() * math.Exp2(float64(r.IntN(66))))))
	case "f64int":
		return math.Float64bits(r.NormFloat64() * math.Exp2(float64(r.IntN(68))))
	case "angle":
		return uint64(math.Float32bits(float32((r.Float64()*2 - 1) * math.Pi)))
	}
	return randomInt(bitsOf(kind), r)
}

// random returns a random bit pattern, a number near 1, or a number with few significand bits.
func (f float) random(r *rand.Rand) uint64 {
	bits := 1 + f.exp + f.mant
	x := r.Uint64() >> (64 - bits)
	one := uint64(1)<<(f.exp-1) - 1
	e := one + uint64(r.IntN(8)) - 4
	switch r.IntN(4) {
	case 0:
		return x
	case 1: // few significand bits, which causes ties
		x &^= 1<<(f.mant-f.mant/3) - 1
	}
	return x&(1<<f.mant-1|1<<(bits-1)) | e<<f.mant
}

func randomInt(bits int, r *rand.Rand) uint64 {
	x := r.Uint64()
	switch r.IntN(4) {
	case 0: // a number with any bit length
		x >>= r.IntN(64)
	case 1: // a negative number with any bit length
		x = -(x >> r.IntN(64))
	}
	return x & (1<<(bits-1)<<1 - 1)
}
