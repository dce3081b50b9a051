package serve_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/serve"
)

type (
	batcher = serve.Batcher[[]uint32, output]
	batchFn = callable.Func[[][]uint32, output]
)

const width = 4 // number of elements in a row

// rows computes 3x + 1 for each row.
func (k *kit) rows(t *callable.Trace[[][]uint32]) (output, error) {
	return k.rowsOf(t, func(in []uint32) []uint32 { return in })
}

// rowsOf is like rows, but reads the inputs with get.
func (k *kit) rowsOf(t *callable.Trace[[][]uint32], get func([]uint32) []uint32) (output, error) {
	x := callable.StageRows(t, get)
	t.Launch(k.Times, config, x, uint32(x.Len()), uint32(3))
	t.Launch(k.Plus, config, x, uint32(x.Len()), uint32(1))
	return callable.Result(t, x), nil
}

// valve stops each batch on the device until the test lets it pass.
type valve struct {
	entered chan struct{} // receives a value for each batch that arrives
	pass    chan struct{} // each value lets one batch pass; open closes the channel
	open    func()
}

// valved returns a function like rows, with a valve.
func (k *kit) valved() (batchFn, *valve) {
	v := &valve{entered: make(chan struct{}, 1000), pass: make(chan struct{})}
	v.open = sync.OnceFunc(func() { close(v.pass) })
	k.gates = append(k.gates, v.open)
	return func(t *callable.Trace[[][]uint32]) (output, error) {
		h, err := driver.NewHostFunc(k.C, func() {
			v.entered <- struct{}{}
			<-v.pass
		})
		if err != nil {
			return nil, err
		}
		t.Do(h)
		return k.rows(t)
	}, v
}

// batcher creates a Batcher that is closed when the test ends.
func (k *kit) batcher(f batchFn, opts ...serve.Option) *batcher {
	k.Helper()
	b, err := serve.NewBatcher(k.C, f, ramp(width, 0), opts...)
	k.OK(err)
	k.watch(b)
	k.Cleanup(func() {
		for _, open := range k.gates { // if the test failed, work may still be waiting
			open()
		}
		k.OK(b.Close())
	})
	return b
}

// checkedRow returns a function that compares a row of the output with values computed on the host
// from in.
func checkedRow(in []uint32) func(output, int) error {
	return func(out output, i int) error {
		row := out.Slice()[i*width : (i+1)*width]
		for j, got := range row {
			if want := in[j]*3 + 1; got != want {
				return fmt.Errorf("row %d, element %d is %d, want %d", i, j, got, want)
			}
		}
		return nil
	}
}

func batched(ctx context.Context, b *batcher, in []uint32) error {
	return b.Call(ctx, in, checkedRow(in))
}

// join makes n calls in other goroutines, one after the other, and waits until they are queued. It
// returns the channels for their results.
func (k *kit) join(ctx context.Context, b *batcher, n int, from uint32) (results []<-chan error) {
	k.Helper()
	for i := range uint32(n) {
		before := b.Stats().Queued
		results = append(results, joined(ctx, b, 0, ramp(width, from+i)))
		k.waiting(b, before+1)
	}
	return results
}

// alone makes a call that is alone in its batch, and immediately ends its window, which lasts 10 on
// the clock. It runs during while the call uses its output.
func (k *kit) alone(b *batcher, c *serve.FakeClock, during func()) error {
	k.Helper()
	result := make(chan error, 1)
	before, inside, proceed := b.Stats().Queued, make(chan struct{}), make(chan struct{})
	go func() {
		result <- b.Call(background, ramp(width, 0), func(output, int) error {
			close(inside)
			<-proceed
			return nil
		})
	}()
	k.waiting(b, before+1)
	k.armed(c, 10)
	c.Advance(10)
	<-inside
	during()
	close(proceed)
	return <-result
}

// joined makes a call in another goroutine.
func joined(ctx context.Context, b *batcher, priority int, in []uint32) <-chan error {
	result := make(chan error, 1)
	go func() {
		result <- b.Call(ctx, in, checkedRow(in), serve.WithPriority(priority))
	}()
	return result
}

// waiting waits until n calls are waiting for their batches to begin.
func (k *kit) waiting(b *batcher, n int) {
	k.Helper()
	k.Eventually(fmt.Sprint(n, " waiting calls"), func() bool { return b.Stats().Queued == n })
}

// running waits until n batches run.
func (k *kit) running(b *batcher, n int) {
	k.Helper()
	k.Eventually(fmt.Sprint(n, " batches"), func() bool { return b.Stats().Busy == n })
}

// armed waits until exactly one timer of the clock is running, with d left.
func (k *kit) armed(c *serve.FakeClock, d time.Duration) {
	k.Helper()
	k.Eventually(fmt.Sprint("a timer of ", d), func() bool { left := c.Left(); return len(left) == 1 && left[0] == d })
}

// all waits for the results and checks that all are nil.
func (k *kit) all(results []<-chan error) {
	k.Helper()
	for i, r := range results {
		if err := <-r; err != nil {
			k.Errorf("call %d: %v", i, err)
		}
	}
}

// sizes returns the number of batches and calls for each size.
func sizes(b *batcher) string {
	text := ""
	for _, s := range b.Stats().Sizes {
		text += fmt.Sprintf("%d: %d/%d ", s.Size, s.Batches, s.Calls)
	}
	return text
}
