package graph

import (
	_ "embed"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
)

// Cond is the condition of one conditional node: a 32-bit number on the device, which kernels of
// the graph set and the node reads when it runs. It is a small value that belongs to the graph it
// was created for.
//
// Kernels can take a Cond as an argument and set it themselves. They declare the parameter as .u64
// and call this device function:
//
//	.extern .func cudaGraphSetConditional(.param .b64 cond, .param .b32 value);
//
// In CUDA C++ it is cudaGraphSetConditional(cond, value). Only kernels that run as nodes of the
// condition's graph may call it. If you have no such kernel, use the operations of Set, SetTo,
// SetWhen and Within.
type Cond struct {
	g   *Graph // the outermost
	raw cu.CUgraphConditionalHandle
}

// Handle returns the driver's handle, 0 for the zero Cond.
func (c Cond) Handle() cu.CUgraphConditionalHandle { return c.raw }

// ArgWord returns the handle as a kernel takes it.
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

// CondOption changes how NewCond makes a condition.
type CondOption func(*condOptions)

type condOptions struct {
	initial uint32
	assign  bool
}

// WithDefault sets the condition's value at the beginning of each launch. Without it, the value is
// the one set last, even by an earlier launch, and undefined before the first.
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

// home returns, locked, the graph that conditions of nodes of g belong to: the outermost graph.
// For a body that is being recorded, that is the outermost graph that the body will be in.
func (g *Graph) home() (*Graph, error) {
	if err := g.lock(); err != nil {
		return nil, err
	}
	if g.rec == nil || g.rec.home == nil {
		return g.outermost(), nil
	}
	home := g.rec.home
	g.mu.Unlock() // in the lock order, home comes before g
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

// usable returns an error if a new node of g may not use the condition.
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

// condPTX has the kernels that set conditions. Each Context loads them once and unloads them.
//
//go:embed cond.ptx
var condPTX []byte

var condConfig = driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}

// Cmp is a comparison of a word with a constant.
type Cmp uint32

// The comparisons. Each is a set of the bits Less, Equal, Greater and unordered. A NaN is
// unordered and counts as not equal.
const (
	Less           Cmp = 1
	Equal          Cmp = 2
	Greater        Cmp = 4
	LessOrEqual        = Less | Equal
	GreaterOrEqual     = Greater | Equal
	NotEqual           = Less | Greater | unordered

	unordered Cmp = 8
)

// String returns the comparison as Go writes it.
func (c Cmp) String() string {
	if s, ok := cmpNames[c]; ok {
		return s
	}
	return fmt.Sprintf("Cmp(%d)", uint32(c))
}

var cmpNames = map[Cmp]string{
	Less: "<", Equal: "==", Greater: ">", LessOrEqual: "<=", GreaterOrEqual: ">=", NotEqual: "!=",
}

// CondWord constrains the words that conditions can be set from.
type CondWord interface {
	uint32 | int32 | float32 | uint64 | int64 | float64
}

// Set returns the operation that sets the condition to v. v is argument 1 of the Launch, which
// SetArg and Exec.Set can change. Like all operations that set conditions, it is a kernel of one
// thread that comes with this package. It only has an effect as a node of the condition's graph or
// of a graph nested in that.
func (c Cond) Set(v uint32) (*driver.Launch, error) {
	return c.prepare("cond_set", c, v)
}

// SetTo returns the operation that sets the condition to the first element of word, such as the
// number of the body that a SWITCH node is to run.
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

// Predicate is a comparison of a word in device memory with a constant, made on the device each
// time that an operation with it runs. See When.
type Predicate struct {
	word     any // a driver.View of one element, declared to be read
	constant any
	cmp      Cmp
	err      error
}

// When returns the predicate that compares the first element of word with the constant by cmp.
// Operations with it return its errors.
func When[T CondWord](word driver.MemoryOf[T], cmp Cmp, constant T) Predicate {
	w, err := wordOf(word)
	if _, known := cmpNames[cmp]; !known {
		err = invalid("%v is not a comparison", cmp)
	}
	return Predicate{driver.In(w), constant, cmp, err}
}

// SetWhen returns the operation that sets the condition to 1 if p holds, else to 0.
func (c Cond) SetWhen(p Predicate) (*driver.Launch, error) {
	return c.setWhen(p, driver.CUdeviceptr(0), 0, 0)
}

// setWhen is SetWhen, bounded if counter is memory.
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

// wordOf returns a view of the first element.
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
	k, err := condKernel(c.g.ctx, kernel)
	if err != nil {
		return nil, c.opError(err)
	}
	l, err := k.Prepare(condConfig, args...)
	if err != nil {
		return nil, c.opError(err)
	}
	return l, nil
}

func (c Cond) opError(err error) error { return fmt.Errorf("cannot set %v: %w", c, err) }

// condKernel returns one of the kernels of condPTX.
func condKernel(ctx *driver.Context, name string) (*driver.Kernel, error) {
	m, err := ctx.Embedded("kernels for conditions", condPTX)
	if err != nil {
		return nil, err
	}
	return m.Kernel(name)
}

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
