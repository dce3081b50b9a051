package main

import (
	"errors"

	"github.com/purecuda/cuda/driver"
)

// stack is a model on a device. A step is a list of operations. The same list is launched,
// captured, built into a graph by hand and used to update a graph.
type stack struct {
	stream  *driver.Stream
	in, out *driver.HostBuffer[float32] // page-locked, for asynchronous copies

	ops       []driver.Op
	norms     []*driver.Launch // one for each block; updates change its epsilon
	residuals []*driver.Launch // one for each block; updates change its scale

	closers []func() error
}

// The positions of the scalars in the kernels' argument lists.
const (
	rmsnormEpsilon = 3
	residualScale  = 2
)

// newStack copies the weights to the device and prepares the operations.
func newStack(c *driver.Context, k *kernels, m *model, p scalars) (*stack, error) {
	s := &stack{}
	if err := s.build(c, k, m, p); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *stack) build(c *driver.Context, k *kernels, m *model, p scalars) (err error) {
	if s.stream, err = c.NewStream(); err != nil {
		return err
	}
	s.closers = append(s.closers, s.stream.Close)
	if s.in, err = allocHost(s, c, m.dim); err != nil {
		return err
	}
	if s.out, err = allocHost(s, c, m.dim); err != nil {
		return err
	}
	v, err := s.allocVectors(c, m)
	if err != nil {
		return err
	}
	upload, err := driver.Upload(v.x, s.in)
	if err != nil {
		return err
	}
	download, err := driver.Download(s.out, v.x)
	if err != nil {
		return err
	}
	s.ops = append(s.ops, upload)
	for i, b := range m.blocks {
		w, err := s.uploadBlock(c, b)
		if err != nil {
			return err
		}
		if err := s.prepareBlock(k, m, v, w, p.epsilon, p.scale[i]); err != nil {
			return err
		}
	}
	s.ops = append(s.ops, download)
	return nil
}

// vectors holds the device memory that all blocks share.
type vectors struct {
	x, normed, y *driver.Buffer[float32] // vectors of length dim
	gate, up     *driver.Buffer[float32] // vectors of length hidden
}

func (s *stack) allocVectors(c *driver.Context, m *model) (v vectors, err error) {
	for _, a := range []struct {
		buffer **driver.Buffer[float32]
		n      int
	}{{&v.x, m.dim}, {&v.normed, m.dim}, {&v.y, m.dim}, {&v.gate, m.hidden}, {&v.up, m.hidden}} {
		b, err := driver.Alloc[float32](c, a.n)
		if err != nil {
			return v, err
		}
		s.closers = append(s.closers, b.Close)
		*a.buffer = b
	}
	return v, nil
}

// weights holds the weights of one block in device memory.
type weights struct {
	norm, gate, up, down *driver.Buffer[float32]
}

func (s *stack) uploadBlock(c *driver.Context, b block) (w weights, err error) {
	for _, u := range []struct {
		buffer **driver.Buffer[float32]
		from   []float32
	}{{&w.norm, b.norm}, {&w.gate, b.gate}, {&w.up, b.up}, {&w.down, b.down}} {
		d, err := driver.AllocFrom(c, u.from)
		if err != nil {
			return w, err
		}
		s.closers = append(s.closers, d.Close)
		*u.buffer = d
	}
	return w, nil
}

// prepareBlock appends x += scale * down·(silu(gate·norm(x)) * up·norm(x)). It checks the
// arguments against the kernels' signatures, once for all steps.
func (s *stack) prepareBlock(k *kernels, m *model, v vectors, w weights, epsilon, scale float32) error {
	p := preparer{stack: s}
	dim, hidden := uint32(m.dim), uint32(m.hidden)
	norm := p.add(k.rmsnorm, rmsnormConfig(m.dim), v.normed, v.x, w.norm, epsilon, dim)
	p.add(k.gemv, gemvConfig(m.hidden), v.gate, w.gate, v.normed, hidden, dim)
	p.add(k.gemv, gemvConfig(m.hidden), v.up, w.up, v.normed, hidden, dim)
	p.add(k.silu, elementConfig(m.hidden), v.gate, v.gate, hidden)
	p.add(k.mul, elementConfig(m.hidden), v.gate, v.gate, v.up, hidden)
	p.add(k.gemv, gemvConfig(m.dim), v.y, w.down, v.gate, dim, hidden)
	residual := p.add(k.residual, elementConfig(m.dim), v.x, v.y, scale, dim)
	s.norms = append(s.norms, norm)
	s.residuals = append(s.residuals, residual)
	return p.err
}

// preparer appends launches to a stack and keeps the first error.
type preparer struct {
	stack *stack
	err   error
}

func (p *preparer) add(k *driver.Kernel, cfg driver.LaunchConfig, args ...any) *driver.Launch {
	if p.err != nil {
		return nil
	}
	launch, err := k.Prepare(cfg, args...)
	if err != nil {
		p.err = err
		return nil
	}
	p.stack.ops = append(p.stack.ops, launch)
	return launch
}

// set changes the scalars of the prepared launches. Existing graphs keep their own copies,
// which only an update changes.
func (s *stack) set(p scalars) error {
	var errs []error
	for i := range s.norms {
		errs = append(errs,
			driver.SetArg(s.norms[i], rmsnormEpsilon, p.epsilon),
			driver.SetArg(s.residuals[i], residualScale, p.scale[i]))
	}
	return errors.Join(errs...)
}

// taker is a stream, which runs operations, or a capture's scope, which records them.
type taker interface{ Do(...driver.Op) error }

// enqueue passes the operations of a step to a stream or scope, one by one.
func (s *stack) enqueue(to taker) error {
	for _, op := range s.ops {
		if err := to.Do(op); err != nil {
			return err
		}
	}
	return nil
}

// Close closes everything in reverse order of creation.
func (s *stack) Close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.closers = nil
	return errors.Join(errs...)
}

func allocHost(s *stack, c *driver.Context, n int) (*driver.HostBuffer[float32], error) {
	b, err := driver.AllocHost[float32](c, n)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, b.Close)
	return b, nil
}
