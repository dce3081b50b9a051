package callable

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// counts holds the Stats as atomic variables, so that Stats need not wait for a call in progress.
type counts struct {
	Calls, Eager, Replayed, Recorded, Updated, Failed, Instantiated, GivenUp, Evicted atomic.Uint64

	Variants    atomic.Int64
	MemoryBytes atomic.Uint64
}

func (c *counts) load() Stats {
	return Stats{
		Calls: c.Calls.Load(), Eager: c.Eager.Load(), Replayed: c.Replayed.Load(), Recorded: c.Recorded.Load(),
		Updated: c.Updated.Load(), Failed: c.Failed.Load(), Instantiated: c.Instantiated.Load(),
		GivenUp: c.GivenUp.Load(), Evicted: c.Evicted.Load(),
		Variants: int(c.Variants.Load()), MemoryBytes: c.MemoryBytes.Load(),
	}
}

// evict closes the least recently called variants until the remaining ones are within the limits.
// It never closes current. If only the memory limit is exceeded, it does not close variants whose
// work is in flight.
func (c *Callable[In, Out]) evict(current *variant[In, Out]) error {
	var errs []error
	for i := len(c.variants) - 1; i >= 0; i-- {
		tooMany := len(c.variants) > c.o.max
		if !tooMany && c.stats.MemoryBytes.Load() <= c.o.memory {
			break
		}
		v := c.variants[i]
		if v == current {
			continue
		}
		if !tooMany {
			busy, err := c.inFlight(v)
			if err != nil {
				errs = append(errs, err)
				break
			}
			if busy {
				continue
			}
		}
		c.variants = slices.Delete(c.variants, i, i+1)
		c.stats.Evicted.Add(1)
		c.stats.Variants.Add(-1)
		c.stats.MemoryBytes.Add(-v.bytes)
		if err := v.close(c.s); err != nil {
			errs = append(errs, fmt.Errorf("the least recently called variant: %w", err))
		}
	}
	return refusal.Join(errs)
}

// inFlight reports whether work of a variant may be in flight.
func (c *Callable[In, Out]) inFlight(v *variant[In, Out]) (bool, error) {
	if v.taken == v.launched && v.host != hostBehindStream {
		return false, nil // an earlier wait returned after the work had ended
	}
	done, err := c.s.Query()
	return !done, err
}

// withinLimit returns an error if the shape would exceed the memory limit with the given number of
// additional bytes.
func (t *Trace[In]) withinLimit(more uint64) error {
	has := bytesOf(t.cells)
	if t.limit == math.MaxUint64 || has <= t.limit && more <= t.limit-has {
		return nil
	}
	return refusal.New(driver.CUDA_ERROR_OUT_OF_MEMORY,
		"this shape of input needs more than the limit of %d bytes: it has %d and requests %d more; raise WithMemory", t.limit, has, more)
}

func bytesOf(cells []cell) (sum uint64) {
	for _, m := range cells {
		sum += m.bytes()
	}
	return sum
}

// bytesFor returns the size of a cell with n elements, without memory in an arena. If the size
// overflows, it returns the largest number.
func bytesFor[T any](p places, n int, l *lease) uint64 {
	var element T
	size := uint64(unsafe.Sizeof(element))
	switch {
	case p.leases() && l.shelf != nil && p == onBoth: // only the part in host memory counts
	case p.leases() && l.shelf != nil:
		return 0
	case p == onBoth:
		size *= 2
	}
	hi, lo := bits.Mul64(size, uint64(max(n, 0)))
	if hi != 0 {
		return math.MaxUint64
	}
	return lo
}
