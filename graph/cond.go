package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/devicecode"
	"github.com/purecuda/cuda/internal/absent"
)

// Cond is the condition of one conditional node: a 32-bit number on the device. Kernels of the
// graph set it, and the node reads it when it runs. A Cond is a small value that belongs to the
// graph it was created for.
//
// Kernels can accept a Cond as an argument and set it. They declare the parameter as .u64 and call
// this device function:
//
//	.extern .func cudaGraphSetConditional(.param .b64 cond, .param .b32 value);
//
// In CUDA C++ it is cudaGraphSetConditional(cond, value). Only kernels that run as nodes of the
// condition's graph may call it. If you have no such kernel, use the operations of Set, SetTo,
// SetWhen and Within.
type Cond struct {
	g   *Graph // outermost graph
	raw cu.CUgraphConditionalHandle
}

// Handle returns the driver's handle, or 0 for the zero Cond.
func (c Cond) Handle() cu.CUgraphConditionalHandle { return c.raw }

// ArgWord returns the handle as a kernel argument.
func (c Cond) ArgWord() uint64 { return uint64(c.raw) }

// Graph returns the outermost graph that the condition belongs to.
func (c Cond) Graph() *Graph { return c.g }

// String describes the condition.
func (c Cond) String() string {
	if c.g == nil {
		return "no condition"
	}
	return fmt.Sprintf("condition %#x", uint64(c.raw))
}

// CondOption configures NewCond.
type CondOption func(*condOptions)

type condOptions struct {
	initial uint32
	assign  bool
}

// WithDefault sets the condition's value at the beginning of each launch. Without it, the condition
// keeps the value that was last set, even by an earlier launch. Until it is first set, the value is
// undefined.
func WithDefault(v uint32) CondOption {
	return func(o *condOptions) { o.initial, o.assign = v, true }
}

// NewCond creates a condition for one conditional node of this graph, or of a graph nested in it at
// any depth (CUDA 12.3). A graph with a condition that no node uses cannot be instantiated.
func (g *Graph) NewCond(opts ...CondOption) (Cond, error) {
	var o condOptions
	absent.Apply(opts, &o)
	home, err := g.home()
	if err != nil {
		return Cond{}, err
	}
	defer home.mu.Unlock()
	c, err := home.newCond(o)
	if err != nil {
		return Cond{}, fmt.Errorf("cannot make a condition for %v: %w", g, err)
	}
	return c, nil
}

// home locks and returns the graph that owns the conditions of nodes of g. That is the outermost
// graph around g or, for a body that is being recorded, the outermost graph that will contain the
// body.
func (g *Graph) home() (*Graph, error) {
	if err := g.lock(); err != nil {
		return nil, err
	}
	if g.rec == nil || g.rec.home == nil {
		return g.outermost(), nil
	}
	home := g.rec.home
	g.mu.Unlock() // home precedes g in the lock order
	return home, home.lock()
}

func (g *Graph) newCond(o condOptions) (Cond, error) {
	flags := uint32(0)
	if o.assign {
		flags = cu.CU_GRAPH_COND_ASSIGN_DEFAULT
	}
	c := Cond{g: g}
	err := g.d.CuGraphConditionalHandleCreate(&c.raw, g.raw, g.ctx.Raw(), o.initial, flags)
	g.alive()
	return c, err
}

func (c Cond) usable(g *Graph) error {
	switch {
	case c.g == nil:
		return aCond.Error(false)
	case c.g != g.outermost():
		return invalid("%v belongs to %v; make one for this graph", c, c.g)
	}
	if n, used := c.g.conds.user(c); used {
		return invalid("%v already belongs to %v; a condition is for one node", c, n)
	}
	return nil
}

// Cmp is a comparison of a word with a constant.
type Cmp uint32

// The comparisons, each a set of the bits Less, Equal, Greater and unordered. A NaN is unordered
// and compares as not equal.
const (
	Less           Cmp = 1
	Equal          Cmp = 2
	Greater        Cmp = 4
	LessOrEqual        = Less | Equal
	GreaterOrEqual     = Greater | Equal
	NotEqual           = Less | Greater | unordered

	unordered Cmp = 8
)

// String returns the Go operator of the comparison.
func (c Cmp) String() string {
	if s, ok := cmpNames[c]; ok {
		return s
	}
	return fmt.Sprintf("Cmp(%d)", uint32(c))
}

var cmpNames = map[Cmp]string{
	Less: "<", Equal: "==", Greater: ">", LessOrEqual: "<=", GreaterOrEqual: ">=", NotEqual: "!=",
}

// CondWord constrains the types of words from which conditions can be set.
type CondWord interface {
	uint32 | int32 | float32 | uint64 | int64 | float64
}

// Set returns an operation that sets the condition to v. SetArg and Exec.Set can change v, which is
// argument 1 of the Launch. Like all operations that set conditions, it runs a kernel of one thread
// that is part of this library. It has an effect only in the condition's graph and the graphs
// nested in it.
func (c Cond) Set(v uint32) (*driver.Launch, error) {
	return c.prepare("cond_set", c, v)
}

// SetTo returns an operation that sets the condition to the first element of word. For a SWITCH
// node, that is the number of the body to run.
func (c Cond) SetTo(word driver.MemoryOf[uint32]) (*driver.Launch, error) {
	if c.g == nil {
		return nil, aCond.Error(false)
	}
	w, err := wordOf(word)
	if err != nil {
		return nil, c.opError(err)
	}
	return c.prepare("cond_word", c, driver.In(w))
}

// Predicate compares a word in device memory with a constant. The comparison runs on the device
// each time an operation with the Predicate runs. See When.
type Predicate struct {
	word     any // a driver.View of one element, declared as read
	constant any
	cmp      Cmp
	err      error
}

// When returns a predicate that compares the first element of word with the constant, using cmp. If
// word or cmp is invalid, the methods that accept the predicate return the error.
func When[T CondWord](word driver.MemoryOf[T], cmp Cmp, constant T) Predicate {
	w, err := wordOf(word)
	if _, known := cmpNames[cmp]; !known {
		err = invalid("%v is not a comparison", cmp)
	}
	return Predicate{driver.In(w), constant, cmp, err}
}

// SetWhen returns an operation that sets the condition: 1 if p holds, else 0.
func (c Cond) SetWhen(p Predicate) (*driver.Launch, error) {
	return c.setWhen(p, driver.CUdeviceptr(0), 0, 0)
}

// setWhen is like SetWhen. If counter is a view, the operation first sets the count to 0 (step 0)
// or increments it (step 1). If the count is then at least rounds, it sets the condition to 0.
func (c Cond) setWhen(p Predicate, counter any, step, rounds uint32) (*driver.Launch, error) {
	if c.g == nil {
		return nil, aCond.Error(false)
	}
	if p.err == nil && p.word == nil {
		p.err = invalid("a zero Predicate; use When")
	}
	if p.err != nil {
		return nil, c.opError(p.err)
	}
	return c.prepare("cond_when_"+ptxType(p.constant), c, p.word, uint32(p.cmp), p.constant, counter, step, rounds)
}

func ptxType(v any) string {
	switch v.(type) {
	case uint32:
		return "u32"
	case int32:
		return "s32"
	case float32:
		return "f32"
	case uint64:
		return "u64"
	case int64:
		return "s64"
	}
	return "f64"
}

// wordOf returns a view of the first element, or an error if m is nil or empty.
func wordOf[T any](m driver.MemoryOf[T]) (driver.View[T], error) {
	if m == nil {
		return driver.View[T]{}, invalid("there is no memory to read")
	}
	v := m.All()
	if err := v.Err(); err != nil {
		return v, err
	}
	if v.Len() == 0 {
		return v, invalid("%v has no element to read", v)
	}
	return v.View(0, 1), nil
}

func (c Cond) prepare(kernel string, args ...any) (*driver.Launch, error) {
	if c.g == nil {
		return nil, aCond.Error(false)
	}
	k, err := devicecode.Cond(c.g.ctx, kernel)
	if err != nil {
		return nil, c.opError(err)
	}
	l, err := k.Prepare(devicecode.OneThread, args...)
	if err != nil {
		return nil, c.opError(err)
	}
	return l, nil
}

func (c Cond) opError(err error) error { return fmt.Errorf("cannot set %v: %w", c, err) }

// Bound is a condition of a WHILE node with a limit on the number of iterations. Its operations
// count the iterations in device memory:
//
//	b, err := c.Within(counter, 100)
//	start, err := b.Start()          // before the node
//	...
//	next, err := b.Next()            // at the end of the body
//
// This makes a loop of exactly 100 iterations. With a Predicate for Start and Next, the loop also
// ends when the Predicate does not hold.
type Bound struct {
	c       Cond
	counter driver.View[uint32]
	rounds  uint32
}

// Within limits a loop to the number of iterations in rounds. During and after the loop, the first
// element of counter holds the number of iterations that have run. No other loop may use counter at
// the same time.
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

// Start returns an operation that sets the counter to 0. It sets the condition to 1 if the limit is
// not 0 and the optional predicate holds, otherwise to 0. Place it before the WHILE node.
func (b Bound) Start(while ...Predicate) (*driver.Launch, error) { return b.count(0, while) }

// Next returns an operation that counts an iteration. It sets the condition to 1 if fewer
// iterations than the limit have run and the optional predicate holds, otherwise to 0. Place it at
// the end of the body.
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
