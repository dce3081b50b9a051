package robust

import "testing"

// Go and a driver keep threads for later use, but no iteration of the test may leave a thread
// behind. Go starts and ends threads as needed, so only growth by at least one thread per two
// iterations counts.
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
