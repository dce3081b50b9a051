package graph

import (
	_ "embed"
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// condPTX is the kernels that set conditions. They are loaded once for each
// Context, which unloads them.
//
//go:embed cond.ptx
var condPTX []byte

var condConfig = driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}

// Cmp is a comparison of a word with a constant.
type Cmp uint32

// The comparisons. They are sets of Less, Equal, Greater and of "not comparable
// with it", which is so of NaN and counts as not equal.
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
		err = invalid("%v is no comparison", cmp)
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
		p.err = invalid("a zero Predicate; take one of When")
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

// wordOf returns the first element.
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
