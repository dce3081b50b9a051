package main

import (
	"fmt"
	"time"
)

// check compares the result with the same steps on the CPU.
func (e *example) check(took time.Duration) error {
	if !e.Emulated {
		e.Printf("%d replays took %v", replays, took.Round(time.Microsecond))
	}
	got := make([]float32, 2*cells)
	if err := e.rod.CopyTo(got); err != nil {
		return err
	}
	crossed := 0.0
	for i, want := range reference()[1 : 2*cells+1] {
		if got[i] != want {
			return fmt.Errorf("wrong result: cell %d is %v, it should be %v", i, got[i], want)
		}
		if i >= cells {
			crossed += float64(want) / 10
		}
	}
	e.Printf("after %d steps %.1f%% of the heat is on the other device, and all cells are right", steps*replays, crossed)
	return nil
}

func reference() []float32 {
	now, next := start(), make([]float32, 2*cells+2)
	for range steps * replays {
		for i := 1; i <= 2*cells; i++ {
			sides := now[i-1] + now[i+1]
			next[i] = sides/4 + now[i]/2 // division by a power of two is exact here
		}
		now, next = next, now
	}
	return now
}
