package serve

import (
	"slices"
	"time"

	"github.com/purecuda/cuda/graph/internal/refusal"
)

// batching contains the options of NewBatcher.
type batching struct {
	set    bool // WithBatch is present
	most   int  // calls in the largest batch
	window time.Duration
	sizes  []int
	clock  clock // replaced by tests
}

const defaultBatch = 16

// WithBatch sets the number of calls in the largest batch of a Batcher, and the window: how long a
// free replica waits for a batch to become full. A window begins when the oldest waiting call
// arrives. The default is 16 calls and a window of 0. With a window of 0, a free replica never
// waits. n may be at most 65,536.
func WithBatch(n int, window time.Duration) Option {
	return func(o *options) { o.batch.set, o.batch.most, o.batch.window = true, n, window }
}

// WithBatchSizes sets the batch sizes that have graphs, in addition to the size of the largest
// batch. A batch of any other size is padded to the next larger size. The default is all powers of
// two. To avoid padding, list all sizes. Each size needs memory and a graph in each replica.
func WithBatchSizes(sizes ...int) Option {
	return func(o *options) { o.batch.sizes = slices.Clone(sizes) }
}

// maxBatch is the largest n of WithBatch. Each replica has memory for n inputs from the beginning.
const maxBatch = 1 << 16

// complete sets defaults. It returns the sizes in ascending order. The last size is the largest
// batch.
func (o *batching) complete() ([]int, error) {
	if !o.set {
		o.most = defaultBatch
	}
	if o.clock == nil {
		o.clock = systemClock{}
	}
	switch {
	case o.most < 1 || o.most > maxBatch:
		return nil, refusal.Invalid("serve: a batch cannot have %d calls, only 1 to %d", o.most, maxBatch)
	case o.window < 0:
		return nil, refusal.Invalid("serve: the window of a batch cannot be %v", o.window)
	}
	sizes := []int{o.most}
	for _, n := range o.sizes {
		if n < 1 || n > o.most {
			return nil, refusal.Invalid("serve: a batch of %d calls, but WithBatch allows 1 to %d", n, o.most)
		}
		sizes = append(sizes, n)
	}
	for n := 1; n < o.most && o.sizes == nil; n *= 2 {
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes), nil
}

// clock measures windows.
type clock interface {
	now() time.Time
	timer() timer
}

// timer can be started again after it has fired or was stopped. Its channel then contains no old
// value.
type timer interface {
	start(d time.Duration) <-chan time.Time
	stop()
}

type systemClock struct{}

func (systemClock) now() time.Time { return time.Now() }

func (systemClock) timer() timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return systemTimer{t}
}

type systemTimer struct{ t *time.Timer }

func (t systemTimer) start(d time.Duration) <-chan time.Time {
	t.t.Reset(d)
	return t.t.C
}

func (t systemTimer) stop() { t.t.Stop() }
