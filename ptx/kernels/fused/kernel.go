package fused

import (
	"fmt"
	"math"
	"sync"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/ptx/kernels"
)

// Kernel computes an expression with elements of type T. It may be used concurrently, in any number
// of contexts.
type Kernel[T kernels.Float] struct{ c *code }

// code is the PTX of an expression. Kernels of equal expressions share it.
type code struct {
	name   string
	ptx    []byte
	params []param
	size   uint64 // of an element of the destination
}

// codes has the code of each expression, by the text of its steps. Contexts keep the modules of all
// these texts until they are closed.
var codes struct {
	mu   sync.Mutex
	made map[string]*code
}

// New returns the kernel of an expression. It returns an error if the names of inputs and scalars are
// invalid or not unique, or if a part of the expression is a zero Expr.
func New[T kernels.Float](result Value[T]) (*Kernel[T], error) {
	p, err := programOf(nodeOf(result))
	if err != nil {
		return nil, fmt.Errorf("fused: %w", err)
	}
	key := fmt.Sprint(p.steps)
	codes.mu.Lock()
	defer codes.mu.Unlock()
	if c := codes.made[key]; c != nil {
		return &Kernel[T]{c}, nil
	}
	text, err := p.ptx()
	if err != nil {
		return nil, fmt.Errorf("fused: %w", err)
	}
	c := &code{p.name(), text, p.params, uint64(p.result().typ.size())}
	if codes.made == nil {
		codes.made = make(map[string]*code)
	}
	codes.made[key] = c
	return &Kernel[T]{c}, nil
}

// PTX returns the kernel's code. Do not change it.
func (k *Kernel[T]) PTX() []byte {
	if k == nil || k.c == nil {
		return nil
	}
	return k.c.ptx
}

// check returns an error for a nil or zero Kernel.
func (k *Kernel[T]) check() error {
	if k == nil || k.c == nil {
		kind := absent.Kind{Name: "fused kernel", Make: "fused.New", Code: driver.CUDA_ERROR_INVALID_VALUE}
		return kind.Error(k == nil)
	}
	return nil
}

// Op returns the operation that sets dst to the value of the expression. There must be one binding
// for each input and scalar of the expression, in any order.
func (k *Kernel[T]) Op(dst driver.MemoryOf[T], bindings ...Binding) (*driver.Launch, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	d := bind(destination, typeOf[T](), dst)
	if err := k.c.check(&d, bindings); err != nil {
		return nil, err
	}
	kernel, err := k.c.load(d.mem.Context())
	if err != nil {
		return nil, k.c.failed(err)
	}
	args := []any{driver.Out(d.mem), d.n}
	for _, p := range k.c.params {
		args = append(args, p.of(bindings).value())
	}
	return kernel.Prepare(k.c.config(d.n), args...)
}

// Update changes the arguments and the grid of an operation that Op of an equal Kernel has returned,
// in the same context. It takes the same bindings as Op. Work that was already enqueued, recorded or
// added to a graph keeps its arguments. After an error, do not enqueue the operation.
func (k *Kernel[T]) Update(op *driver.Launch, dst driver.MemoryOf[T], bindings ...Binding) error {
	if err := k.check(); err != nil {
		return err
	}
	d := bind(destination, typeOf[T](), dst)
	if err := k.c.check(&d, bindings); err != nil {
		return err
	}
	kernel, err := k.c.load(d.mem.Context())
	if err != nil {
		return k.c.failed(err)
	}
	if op.Kernel() != kernel {
		return k.c.failed(invalid("the operation to update is of another kernel or context"))
	}
	if err := op.SetConfig(k.c.config(d.n)); err != nil {
		return err
	}
	if err := driver.SetArg(op, 0, d.mem); err != nil {
		return err
	}
	if err := driver.SetArg(op, 1, d.n); err != nil {
		return err
	}
	for i, p := range k.c.params {
		if err := p.of(bindings).set(op, i+2); err != nil {
			return err
		}
	}
	return nil
}

func (c *code) failed(err error) error { return fmt.Errorf("fused: %s: %w", c.name, err) }

func (c *code) load(ctx *driver.Context) (*driver.Kernel, error) {
	m, err := ctx.Embedded("fused kernel", c.ptx)
	if err != nil {
		return nil, err
	}
	return m.Kernel(c.name)
}

// config returns a launch in which each thread has one pack: see emitter.
func (c *code) config(n uint64) driver.LaunchConfig {
	packs := n/(packBytes/c.size) + 1 // one more if dst is not aligned
	blocks := min((packs+threads-1)/threads, math.MaxInt32)
	return driver.LaunchConfig{Grid: driver.D1(int(blocks)), Block: driver.D1(threads)}
}

// check returns an error unless the memory and the bindings fit the expression.
func (c *code) check(dst *Binding, bindings []Binding) error {
	if dst.err != nil {
		return c.failed(dst.err)
	}
	for _, p := range c.params {
		b := p.of(bindings)
		switch {
		case b == nil:
			return c.failed(invalid("%v has no binding", p))
		case b.err != nil:
			return c.failed(b.err)
		case b.typ != p.typ || b.scalar != p.scalar:
			return c.failed(invalid("the binding is for %v, but the expression has %v", param{b.name, b.typ, b.scalar}, p))
		case b.scalar:
			continue
		case b.n != dst.n:
			return c.failed(invalid("dst has %d elements, but %s has %d; take a View of the intended part", dst.n, b.name, b.n))
		}
		if err := dst.apart(b); err != nil {
			return c.failed(err)
		}
	}
	if len(bindings) != len(c.params) { // each parameter has one
		return c.failed(invalid("there are %d bindings for %d inputs and scalars", len(bindings), len(c.params)))
	}
	return nil
}
