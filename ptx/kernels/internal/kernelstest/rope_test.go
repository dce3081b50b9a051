package kernelstest

import (
	"math"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

type turned struct {
	tokens, heads, dim, pairs int
	skip, headGap, tokenGap   int
}

func (r turned) headPitch() int  { return r.dim + r.headGap }
func (r turned) tokenPitch() int { return r.heads*r.headPitch() + r.tokenGap }

func (r turned) of(mem driver.MemoryOf[float32]) kernels.Heads[float32] { return headsOf(r, mem) }

func headsOf[T kernels.NetFloat](r turned, mem driver.MemoryOf[T]) kernels.Heads[T] {
	return kernels.Heads[T]{Mem: mem, Tokens: r.tokens, Heads: r.heads, Dim: r.dim, TokenPitch: r.tokenPitch(), HeadPitch: r.headPitch()}
}

var turns = []turned{
	{0, 0, 0, 0, 0, 0, 0}, {0, 4, 8, 4, 0, 0, 0}, {3, 0, 8, 4, 0, 0, 1}, {1, 1, 2, 1, 0, 0, 0}, {1, 1, 1, 0, 0, 0, 0},
	{2, 5, 64, 32, 0, 0, 0}, {3, 9, 80, 16, 1, 3, 5}, {7, 3, 7, 3, 0, 1, 0}, {2, 4, 6, 0, 0, 0, 0}, {33, 8, 128, 64, 0, 0, 0},
}

func TestRope(t *testing.T) {
	each(t, func(k *kit) {
		for _, r := range turns {
			for _, p := range []kernels.Pairing{kernels.Neighbours, kernels.Halves} {
				ropes[float32](k, r, p)
				ropes[kernels.F16](k, r, p)
				ropes[kernels.BF16](k, r, p)
			}
		}
	})
}

func ropes[T kernels.NetFloat](k *kit, r turned, p kernels.Pairing) {
	k.Helper()
	n := r.skip + r.tokens*r.tokenPitch() + 1
	before := elements[T](random(n, 14))
	src, err := driver.AllocFrom(k.c, before)
	k.ok(err)
	dst, err := driver.AllocFrom(k.c, before)
	k.ok(err)
	positions, frequencies := places(r.tokens), kernels.RopeFrequencies(r.pairs, 10000)
	pos, err := driver.AllocFrom(k.c, positions)
	k.ok(err)
	freq, err := driver.AllocFrom(k.c, frequencies)
	k.ok(err)
	k.run(kernels.Rope(headsOf(r, dst.View(r.skip, n)), headsOf(r, src.View(r.skip, n)), pos, freq, p))
	want := rope(r, p, before, positions, frequencies)
	got := host(k, dst)
	for i := range got {
		if g, w := number(got[i]), want[i]; !near[T](g, w.value, w.off) {
			k.far(g, w.value, w.off, "%v of %T, %+v, element %d", p, got[i], r, i)
			break
		}
	}
	v := src.View(r.skip, n)
	k.run(kernels.Rope(headsOf(r, v), headsOf(r, v), pos, freq, p))
	if !slices.Equal(host(k, src), got) {
		k.Errorf("%v of %T, %+v: differs in place", p, got[0], r)
	}
	for _, m := range []interface{ Close() error }{src, dst, pos, freq} {
		k.ok(m.Close())
	}
}

func places(tokens int) []int32 {
	p := make([]int32, tokens)
	for i := range p {
		p[i] = int32(i * i * i * 997)
	}
	return p
}

type allowed struct{ value, off float64 }

func rope[T kernels.NetFloat](r turned, p kernels.Pairing, before []T, positions []int32, frequencies []float32) []allowed {
	want := make([]allowed, len(before))
	for i, v := range before {
		want[i].value = number(v)
	}
	for n := range r.tokens * r.heads * r.pairs {
		pair, head, token := n%r.pairs, n/r.pairs%r.heads, n/r.pairs/r.heads
		a, b := 2*pair, 2*pair+1
		if p == kernels.Halves {
			a, b = pair, pair+r.pairs
		}
		first := r.skip + token*r.tokenPitch() + head*r.headPitch()
		x, y := number(before[first+a]), number(before[first+b])
		sin, cos := math.Sincos(float64(positions[token]) * float64(frequencies[pair]))
		off := 4e-7 * math.Hypot(x, y)
		want[first+a], want[first+b] = allowed{x*cos - y*sin, off}, allowed{x*sin + y*cos, off}
	}
	return want
}

func TestRopesThatCannotBeAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		b, pos, freq := alloc[float32](k, 100), alloc[int32](k, 3), alloc[float32](k, 4)
		h := kernels.Heads[float32]{Mem: b, Tokens: 3, Heads: 4, Dim: 8}
		k.made(kernels.Rope(h, h, pos, freq, kernels.Halves))
		_, err := kernels.Rope(h, h, pos, freq, 2)
		k.refused(err, "rope", "Pairing(2) is not a pairing")
		_, err = kernels.Rope(h, h, pos.View(0, 2), freq, kernels.Halves)
		k.refused(err, "2 positions for 3 tokens")
		short := kernels.Heads[float32]{Mem: b, Tokens: 3, Heads: 4, Dim: 7}
		_, err = kernels.Rope(short, short, pos, freq, kernels.Halves)
		k.refused(err, "4 frequencies", "3 pairs")
		_, err = kernels.Rope(h, short, pos, freq.View(0, 3), kernels.Halves)
		k.refused(err, "dst is 3 × 4 × 8", "src is 3 × 4 × 7")
		_, err = kernels.Rope(h, h, pos, b.View(90, 94), kernels.Halves)
		k.refused(err, "dst overlaps")
		_, err = kernels.Rope(h, h, nil, freq, kernels.Halves)
		k.refused(err, "positions is nil")
		h.Mem = b.View(0, 50)
		_, err = kernels.Rope(h, h, pos, freq, kernels.Halves)
		k.refused(err, "3 × 4 × 8", "50")
	})
}

// A decode loop keeps the position in memory, so each replay must use its current value.
func TestRopeInAGraphReadsItsPosition(t *testing.T) {
	each(t, func(k *kit) {
		x, y := device(k, 0, []float32{1, 0}), alloc[float32](k, 2)
		pos, freq := alloc[int32](k, 1), device(k, 0, []float32{0.5})
		one := turned{tokens: 1, heads: 1, dim: 2, pairs: 1}
		op := k.made(kernels.Rope(one.of(y), one.of(x), pos, freq, kernels.Halves))
		for _, p := range []int32{0, 3} {
			k.ok(pos.Fill(p))
			k.replay(2, op, nil)
			sin, cos := math.Sincos(float64(p) / 2)
			got := host(k, y)
			if !near[float32](float64(got[0]), cos, 4e-7) || !near[float32](float64(got[1]), sin, 4e-7) {
				t.Errorf("at position %d: %v, want %v and %v", p, got, cos, sin)
			}
		}
	})
}
