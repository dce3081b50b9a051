package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

type flowStep struct {
	op      driver.Op
	version uint64 // of a launch: Launch.AccessesVersion
	name    string
	uses    []driver.Access // the operation's and those that were declared
	extra   []driver.Declared
	after   []int
}

// Step is one operation of a Flow.
type Step struct {
	f *Flow
	i int
}

// declaredAccess is what use i of a list declares.
func declaredAccess(u driver.Declared, i int) (driver.Access, error) {
	a, err := u.Access()
	if err != nil {
		return a, fmt.Errorf("use %d: %w", i, err)
	}
	a.What, a.Arg = fmt.Sprintf("declared use %d", i), declaredUse
	return a, nil
}

// declaredUse is the Arg of accesses that are none of an operation's.
const declaredUse = -1

// Index returns the index of the step, and of its node in the graph from Build.
func (s Step) Index() int { return s.i }

// Dependencies returns the indices of the steps that it directly runs after, in ascending order.
func (s Step) Dependencies() []int {
	if s.f == nil {
		return nil
	}
	return append([]int(nil), s.f.steps[s.i].after...)
}

// SetName names the nodes that are created from the step.
func (s Step) SetName(name string) {
	if s.f != nil {
		s.f.steps[s.i].name = name
	}
}

// After makes the step, which must be the latest of its flow, run after others for a reason other
// than memory.
func (s Step) After(others ...Step) error {
	if s.f == nil {
		return aStep.Error(false)
	}
	if s.i != len(s.f.steps)-1 {
		return invalid("only the step that was added last to a flow can be given others to run after")
	}
	after := s.f.steps[s.i].after
	for _, o := range others {
		if o.f != s.f || o.i == s.i {
			return invalid("step %d cannot run after something that is no other step of its flow", s.i)
		}
		after = append(after, o.i)
	}
	s.f.done.Undo()
	s.f.steps[s.i].after = s.f.done.Add(after)
	return nil
}
