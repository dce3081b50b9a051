package robust

import "testing"

// Threads stay: Go keeps its own for later, and a driver those that it started.
// But no program leaves one behind, which would be one more with each round.
// Go starts and ends some as it needs them, a few more or less each time, so
// growth is what comes to one in two rounds.
func TestThreadsDoNotGrow(t *testing.T) {
	const settle, rounds = 5, 45
	early := 0
	eachDriverAnew(t, rounds, wholeLife, func(t *testing.T, round int) {
		n := len(tasks(t))
		switch {
		case round == settle:
			early = n
		case round == rounds-1:
			t.Logf("%d threads after %d rounds, %d after %d", early, settle, n, rounds)
			if n-early >= (rounds-settle)/2 {
				t.Errorf("they grow")
			}
		}
	})
}
