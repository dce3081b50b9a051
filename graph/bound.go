package graph

import "github.com/purecuda/cuda/driver"

// Bound is a condition of a WHILE node with a limit on its rounds, which are counted in device
// memory:
//
//	b, err := c.Within(counter, 100)
//	start, err := b.Start()          // before the node: no round yet
//	...
//	next, err := b.Next()            // the last thing in the body: one round more
//
// This makes a loop of exactly 100 rounds. With a Predicate for Start and Next, the loop also ends
// when that does not hold.
type Bound struct {
	c       Cond
	counter driver.View[uint32]
	rounds  uint32
}

// Within limits a loop to rounds. counter holds one number, which is the number of rounds made when
// the loop has ended. No other loop may use it at the same time.
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

// Start returns the operation that sets the counter to 0, and the condition to 1 unless the limit
// is 0 or while, if given, does not hold. Place it before the WHILE node.
func (b Bound) Start(while ...Predicate) (*driver.Launch, error) { return b.count(0, while) }

// Next returns the operation that counts a round, and sets the condition to 1 if there have been
// fewer rounds than the limit and while, if given, holds, else to 0. Place it at the end of the
// body.
func (b Bound) Next(while ...Predicate) (*driver.Launch, error) { return b.count(1, while) }

func (b Bound) count(step uint32, while []Predicate) (*driver.Launch, error) {
	switch len(while) {
	case 0:
		return b.c.prepare("cond_count", b.c, b.counter, step, b.rounds)
	case 1:
		return b.c.setWhen(while[0], b.counter, step, b.rounds)
	}
	return nil, b.c.opError(invalid("%d predicates; a loop tests one", len(while)))
}
