package graph

import "github.com/purecuda/cuda/driver"

// Bound is a condition of a WHILE node together with a limit on its rounds. The
// rounds are counted in device memory:
//
//	b, err := c.Within(counter, 100)
//	start, err := b.Start()          // before the node: no round yet
//	...
//	next, err := b.Next()            // the last thing in the body: one round more
//
// makes a loop of exactly 100 rounds. With [StartWhen] and [NextWhen] in
// place of Start and Next, the loop also ends when a word no longer compares as it
// should.
type Bound struct {
	c       Cond
	counter driver.View[uint32]
	rounds  uint32
}

// Within bounds a loop. counter is the memory of one number, which is that of
// the rounds made when the loop has ended; no other loop may count there at the
// same time.
func (c Cond) Within(counter driver.MemoryOf[uint32], rounds uint32) (Bound, error) {
	if c.g == nil {
		return Bound{}, aCond.Error(false)
	}
	w, err := wordOf(counter)
	if err != nil {
		return Bound{}, c.opError(err)
	}
	return Bound{c, w, rounds}, nil
}

// Cond returns the condition.
func (b Bound) Cond() Cond { return b.c }

// Rounds returns the limit.
func (b Bound) Rounds() uint32 { return b.rounds }

// Start is the operation that sets the counter to 0, and the condition to 1
// unless the limit is 0. It goes before the WHILE node.
func (b Bound) Start() (*driver.Launch, error) {
	return b.c.prepare("cond_count", b.c, b.counter, uint32(0), b.rounds)
}

// Next is the operation that counts a round, and sets the condition to 1 if
// there have been fewer than the limit, else to 0. It goes at the end of the
// body.
func (b Bound) Next() (*driver.Launch, error) {
	return b.c.prepare("cond_count", b.c, b.counter, uint32(1), b.rounds)
}

// StartWhen is Bound.Start for a loop that also depends on a word, see [SetWhen].
func StartWhen[T CondWord](b Bound, word driver.MemoryOf[T], cmp Cmp, constant T) (*driver.Launch, error) {
	return setWhen(b.c, word, cmp, constant, &b, 0, b.rounds)
}

// NextWhen is Bound.Next for a loop that also depends on a word, see [SetWhen].
func NextWhen[T CondWord](b Bound, word driver.MemoryOf[T], cmp Cmp, constant T) (*driver.Launch, error) {
	return setWhen(b.c, word, cmp, constant, &b, 1, b.rounds)
}
