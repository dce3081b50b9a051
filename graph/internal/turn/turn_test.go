package turn

import (
	"math/rand/v2"
	"testing"
)

// Many ties come and go, and their launches write to overlapping memory. Forgetting those that have
// left must not change what Written and Overwritten return, and must bound the number of ties.
func TestTiesThatLeftAreForgotten(t *testing.T) {
	for seed := range uint64(5) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		var all, some Turn // all forgets nothing
		type pair struct{ all, some *Memory }
		var memory []pair
		some.Live = func() (live []*Memory) {
			for _, m := range memory {
				live = append(live, m.some)
			}
			return live
		}
		var ties [][2]*Tie
		for step := range 1000 {
			p := &Plan{Name: "p", Number: uint64(step)}
			at, size := uint64(rnd.IntN(100)), uint64(1+rnd.IntN(10))
			m := pair{&Memory{Turn: &all, Plan: p, At: at, Size: size, Born: all.Now()}, &Memory{Turn: &some, Plan: p, At: at, Size: size, Born: some.Now()}}
			memory = append(memory, m)
			both := [2]*Tie{Guest(&all, p), Guest(&some, p)}
			both[0].Use(m.all)
			both[1].Use(m.some)
			ties = append(ties, both)
			for range 3 {
				i := rnd.IntN(len(ties))
				for _, t := range ties[i] {
					t.launched()
				}
			}
			if len(ties) > 5 {
				i := rnd.IntN(len(ties))
				for _, t := range ties[i] {
					t.Leave()
					t.Leave()
				}
				ties = append(ties[:i], ties[i+1:]...)
			}
			if len(memory) > 20 {
				i := rnd.IntN(len(memory))
				memory = append(memory[:i], memory[i+1:]...)
			}
			for _, m := range memory {
				if a, b := all.Written(m.all), some.Written(m.some); a != b {
					t.Fatalf("step %d: memory was written at %d, want %d", step, b, a)
				}
				// Several plans may have overwritten the memory, so the test only compares whether
				// there is one.
				if a, b := all.Overwritten(m.all), some.Overwritten(m.some); (a == nil) != (b == nil) {
					t.Fatalf("step %d: memory was overwritten by %v, want %v", step, b, a)
				}
			}
		}
		if n := len(some.ties); n > 6+mostLeft+2 {
			t.Errorf("%d ties are known, %d without forgetting", n, len(all.ties))
		}
	}
}
