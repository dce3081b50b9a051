package serve_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/serve"
)

type (
	output = *driver.HostBuffer[uint32]
	pool   = serve.Pool[[]uint32, output]
	fn     = callable.Func[[]uint32, output]
)

var (
	config     = graphtest.Config
	background = context.Background()
)

type kit struct {
	*graphtest.Kit
	gates []func() // functions that open the gates of the test
}

func newKit(t testing.TB, c *driver.Context) *kit { return &kit{Kit: graphtest.NewKit(t, c)} }

func each(t *testing.T, test func(k *kit)) {
	t.Helper()
	graphtest.Each(t, func(k *graphtest.Kit) { test(&kit{Kit: k}) })
}

// affine computes 3x + 1.
func (k *kit) affine(t *callable.Trace[[]uint32]) (output, error) {
	x := callable.StageSlice(t, func(in []uint32) []uint32 { return in })
	t.Launch(k.Times, config, x, uint32(x.Len()), uint32(3))
	t.Launch(k.Plus, config, x, uint32(x.Len()), uint32(1))
	return callable.Result(t, x), nil
}

// greedy is like affine, but for inputs of one element it needs more memory than exists. The driver
// rejects that allocation, so these calls break a replica.
func (k *kit) greedy(t *callable.Trace[[]uint32]) (output, error) {
	if callable.Shape(t, func(in []uint32) bool { return len(in) == 1 }) {
		callable.Scratch[uint64](t, 1<<40)
	}
	return k.affine(t)
}

// gated returns a function like affine, whose work on the device ends only after open is called.
// entered waits until that work has begun to wait for open.
func (k *kit) gated() (f fn, open, entered func()) { return k.gate(k.affine) }

// gate is like gated, but records inner's work after the gate.
func (k *kit) gate(inner fn) (f fn, open, entered func()) {
	gate, inside := make(chan struct{}), make(chan struct{}, 1)
	f = func(t *callable.Trace[[]uint32]) (output, error) {
		h, err := driver.NewHostFunc(k.C, func() {
			select {
			case inside <- struct{}{}:
			default:
			}
			<-gate
		})
		if err != nil {
			return nil, err
		}
		t.Do(h)
		return inner(t)
	}
	open = sync.OnceFunc(func() { close(gate) })
	k.gates = append(k.gates, open)
	return f, open, func() { <-inside }
}

// pool creates a Pool that is closed when the test ends.
func (k *kit) pool(f fn, opts ...serve.Option) *pool {
	k.Helper()
	p, err := serve.New(k.C, f, [][]uint32{ramp(8, 0)}, opts...)
	k.OK(err)
	k.watch(p)
	k.Cleanup(func() {
		for _, open := range k.gates { // if the test has failed, work may still be waiting
			open()
		}
		k.OK(p.Close())
	})
	return p
}

// watch checks a Pool until the test ends. If the Pool is inconsistent, a call may wait forever, so
// watch ends the test with a panic instead of waiting for its timeout.
func (k *kit) watch(p interface{ Check() error }) {
	done, ended := make(chan struct{}), make(chan struct{})
	name := k.Name()
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			if err := p.Check(); err != nil {
				panic(fmt.Sprintf("%s: the pool is inconsistent: %v", name, err))
			}
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	k.Cleanup(func() {
		close(done)
		<-ended
	})
}

func ramp(n int, from uint32) []uint32 {
	x := make([]uint32, n)
	for i := range x {
		x[i] = from + uint32(i)
	}
	return x
}

// checked returns a function that compares an output with 3x + 1 for each element of in.
func checked(in []uint32) func(output) error {
	return func(out output) error {
		if out.Len() != len(in) {
			return fmt.Errorf("%d elements, want %d", out.Len(), len(in))
		}
		for i, got := range out.Slice() {
			if want := in[i]*3 + 1; got != want {
				return fmt.Errorf("element %d is %d, want %d", i, got, want)
			}
		}
		return nil
	}
}

func call(ctx context.Context, p *pool, in []uint32) error { return p.Call(ctx, in, checked(in)) }

// start makes a call in another goroutine and returns the channel for its result.
func start(ctx context.Context, p *pool, priority int, use func(output) error) <-chan error {
	result := make(chan error, 1)
	go func() { result <- p.Call(ctx, ramp(8, 5), use, serve.WithPriority(priority)) }()
	return result
}

// until waits until a condition holds for the Pool's Stats.
func (k *kit) until(p *pool, what string, is func(s serve.Stats) bool) {
	k.Helper()
	k.Eventually(what, func() bool { return is(p.Stats()) })
}

// queued waits until n calls are queued.
func (k *kit) queued(p *pool, n int) {
	k.Helper()
	k.until(p, fmt.Sprint(n, " queued calls"), func(s serve.Stats) bool { return s.Queued == n })
}

// busy waits until n replicas are busy.
func (k *kit) busy(p *pool, n int) {
	k.Helper()
	k.until(p, fmt.Sprint(n, " busy replicas"), func(s serve.Stats) bool { return s.Busy == n })
}
