package main

import (
	"math"
	"testing"
)

func TestRandomIsSplitmix64(t *testing.T) {
	r := random(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		if got := r.next(); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
}

func TestReferenceOfOneBlockByHand(t *testing.T) {
	m := &model{config: config{dim: 2, hidden: 1, layers: 1}, blocks: []block{{
		norm: []float32{1, 2}, gate: []float32{1, 0}, up: []float32{0, 1}, down: []float32{3, -1},
	}}}
	got := m.forward([]float32{3, 4}, scalars{epsilon: 0, scale: []float32{0.5}})
	// The mean of the squares is 12.5, and normed = (3, 2*4) / sqrt(12.5).
	gate, up := 3/math.Sqrt(12.5), 8/math.Sqrt(12.5)
	h := gate / (1 + math.Exp(-gate)) * up
	for i, want := range []float64{3 + 0.5*3*h, 4 - 0.5*h} {
		if math.Abs(got[i]-want) > 1e-14 {
			t.Errorf("element %d is %v, want %v", i, got[i], want)
		}
	}
}

func TestInputsDifferByStepAndSeed(t *testing.T) {
	m, other := newModel(config{4, 8, 1, 1}), newModel(config{4, 8, 1, 2})
	if m.input(0)[0] == m.input(1)[0] || m.input(0)[0] == other.input(0)[0] {
		t.Error("two inputs begin alike")
	}
	if m.input(3)[0] != m.input(3)[0] {
		t.Error("an input is not the same twice")
	}
}

func TestDifferenceSeesWhatIsNotANumber(t *testing.T) {
	if d := difference([]float32{1, float32(math.NaN())}, []float64{1, 2}); !math.IsInf(d, 1) {
		t.Errorf("difference to a NaN is %v", d)
	}
	if d := difference([]float32{1, 2}, []float64{1, 4}); d != 0.5 {
		t.Errorf("difference is %v, want 0.5", d)
	}
}
