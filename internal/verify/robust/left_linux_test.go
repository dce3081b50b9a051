package robust

import "testing"

// No iteration of the test may leave threads behind. Go and the driver keep some threads for later
// use, so the test fails only if at least one thread remains for every two iterations.
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
