package robust

import (
	"runtime"
	"testing"
)

// Threads stay: Go keeps its own for later, and a driver those that it started.
// But their number does not grow from one program to the next.
func TestThreadsDoNotGrow(t *testing.T) {
	const settle, rounds = 5, 25
	early := 0
	eachDriverAnew(t, rounds, wholeLife, func(t *testing.T, round int) {
		n := len(tasks(t))
		switch {
		case round == settle:
			early = n
		case round == rounds-1:
			t.Logf("%d threads after %d rounds, %d after %d", early, settle, n, rounds)
			if n > early+2+runtime.GOMAXPROCS(0)/4 {
				t.Errorf("they grow")
			}
		}
	})
}
