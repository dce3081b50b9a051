// Package dataflow derives the edges of a graph from the memory that its operations read and write.
//
//	flow := dataflow.New(ctx)
//	for _, op := range operations { // in the order of a plain program
//		_, err = flow.Add(op)
//	}
//	g, err := flow.Build()
package dataflow

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/access"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/absent"
)

// Descriptions for the errors of methods on nil and zero objects.
var (
	aFlow = absent.Kind{Name: "flow", Make: "dataflow.New of a context", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aStep = absent.Kind{Name: "Step", Make: "Flow.Add", Code: driver.CUDA_ERROR_INVALID_VALUE}
)

// Flow is a list of operations in program order. It builds graphs that run the operations as
// concurrently as possible, with the same results as in program order. Edges follow from the memory
// that operations access. An operation runs after each earlier operation that accesses the same
// memory, if at least one of them writes it. Flow omits redundant edges. The same list always
// produces the same graph.
//
// Accesses are exact for copies, fills and memory operations. A kernel is assumed to read and write
// all of each buffer or view among its arguments, unless driver.In or driver.Out narrows that. Some
// accesses are unknown: the accesses of a host function, accesses through an address passed as a
// number, and accesses to memory that a kernel reaches through pointers. Declare them with
// driver.In, Out and InOut at Add, or order the step with [Step.After].
//
// Add reads an operation's accesses, and Build reads its parameters again. So each step needs its
// own operation. Do not change and reuse one launch for two steps that use different memory.
//
// Only one goroutine at a time may use a Flow. It need not be closed.
type Flow struct {
	ctx   *driver.Context
	steps []step
	index access.Index
	done  access.Reach // for each step, the steps before it
}

// New returns an empty Flow for operations of c.
func New(c *driver.Context) *Flow { return &Flow{ctx: c} }

// Add adds an operation. In the graph, it runs after each earlier operation whose memory accesses
// conflict with its own. uses declares further memory accesses.
func (f *Flow) Add(op driver.Op, uses ...driver.Declared) (Step, error) {
	if !f.exists() {
		return Step{}, aFlow.Error(f == nil)
	}
	if err := refusal.Operation(f.ctx, op); err != nil {
		return Step{}, f.addError(op, err)
	}
	s := step{op: op, extra: append([]driver.Declared(nil), uses...)}
	if l, ok := op.(*driver.Launch); ok {
		s.version = uint64(l.Block().Accesses)
	}
	s.uses = append(make([]driver.Access, 0, len(op.Uses().Accesses)+len(uses)), op.Uses().Accesses...)
	for i, u := range uses {
		a, err := access.Declared(u, i)
		if err != nil {
			return Step{}, f.addError(op, err)
		}
		s.uses = append(s.uses, a)
	}
	return f.enter(s), nil
}

func (f *Flow) exists() bool { return f != nil && f.ctx != nil }

func (f *Flow) addError(op driver.Op, err error) error {
	if op == nil {
		return fmt.Errorf("cannot add step %d to a flow: %w", len(f.steps), err)
	}
	return fmt.Errorf("cannot add %v as step %d to a flow: %w", op, len(f.steps), err)
}

func (f *Flow) enter(s step) Step {
	i := len(f.steps)
	for _, a := range s.uses {
		f.index.Conflicts(a, &s.after)
	}
	for _, a := range s.uses {
		f.index.Add(i, a)
	}
	s.after = f.done.Add(s.after)
	f.steps = append(f.steps, s)
	return Step{f, i}
}

// Items returns the steps as items for AddBatch, in order, with their names and declared uses. To
// run the steps after existing nodes, set Deps of the items without After. If the items have no
// names and declared uses, they also suit NewPlan. Items can be called any number of times. Between
// Add and Items, the numeric arguments of launches may change, but not the memory they use.
func (f *Flow) Items() ([]graph.Item, error) {
	if !f.exists() {
		return nil, aFlow.Error(f == nil)
	}
	if err := f.unchanged(); err != nil {
		return nil, err
	}
	items := make([]graph.Item, len(f.steps))
	for i := range items {
		s := &f.steps[i]
		items[i] = graph.Item{Op: s.op, After: append([]int(nil), s.after...), Name: s.name, Uses: s.extra}
	}
	return items, nil
}

// Build returns a new graph of the steps.
func (f *Flow) Build() (*graph.Graph, error) {
	items, err := f.Items()
	if err != nil {
		return nil, err
	}
	g, err := graph.New(f.ctx)
	if err != nil {
		return nil, err
	}
	if _, err := g.AddBatch(nil, items); err != nil {
		return nil, fmt.Errorf("cannot build a flow: %w", errors.Join(err, g.Close()))
	}
	return g, nil
}

// unchanged returns an error if the memory accesses of a launch have changed since it was added.
func (f *Flow) unchanged() error {
	for i := range f.steps {
		s := &f.steps[i]
		if l, ok := s.op.(*driver.Launch); ok && uint64(l.Block().Accesses) != s.version {
			return refusal.Invalid("cannot build a flow: the memory of step %d, %v, was changed after it was added; take a launch for each step", i, l)
		}
	}
	return nil
}

type step struct {
	op      driver.Op
	version uint64 // AccessesVersion of a launch when it was added
	name    string
	uses    []driver.Access // accesses of the operation and declared accesses
	extra   []driver.Declared
	after   []int
}

// Step is an operation in a Flow.
type Step struct {
	f *Flow
	i int
}

// Index returns the index of the step, and of its node in the graph from Build.
func (s Step) Index() int { return s.i }

// Dependencies returns the indices of the steps that this step directly runs after, in ascending
// order.
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

// After makes the step also run after the given steps, for dependencies that no memory access
// shows. The step must be the latest of its flow.
func (s Step) After(others ...Step) error {
	if s.f == nil {
		return aStep.Error(false)
	}
	if s.i != len(s.f.steps)-1 {
		return refusal.Invalid("only the step that was added last to a flow can be given others to run after")
	}
	after := s.f.steps[s.i].after
	for _, o := range others {
		if o.f != s.f || o.i == s.i {
			return refusal.Invalid("step %d cannot run after something that is not another step of its flow", s.i)
		}
		after = append(after, o.i)
	}
	s.f.done.Undo()
	s.f.steps[s.i].after = s.f.done.Add(after)
	return nil
}
