package callable_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

type row struct{ x []uint32 }

// plusOne adds 1 to all elements of a batch of rows.
func (k *kit) plusOne(t *callable.Trace[[]row]) (*driver.HostBuffer[uint32], error) {
	x := callable.StageRows(t, func(in row) []uint32 { return in.x })
	t.Launch(k.Plus, config, x, uint32(x.Len()), uint32(1))
	return callable.Result(t, x), nil
}

// batchOf returns n rows of 4 elements.
func batchOf(n int, from uint32) (rows []row) {
	for i := range n {
		rows = append(rows, row{ramp(4, from+uint32(4*i))})
	}
	return rows
}

func TestStageRows(t *testing.T) {
	eachMode(t, func(k *kit) {
		c := made(k, k.plusOne, [][]row{batchOf(3, 0)})
		for i := range uint32(3) {
			out, err := c.Call(background, batchOf(3, 100*i))
			k.OK(err)
			if !slices.Equal(out.Slice(), ramp(12, 100*i+1)) {
				t.Errorf("got %v", out.Slice())
			}
		}
		for _, in := range []struct {
			what string
			rows []row
			has  bool
		}{
			{"the same shape", batchOf(3, 7), true},
			{"fewer rows", batchOf(2, 0), false},
			{"more rows", batchOf(4, 0), false},
			{"one row of the same length as three", []row{{ramp(12, 0)}}, false},
			{"longer rows", []row{{ramp(5, 0)}, {ramp(5, 0)}, {ramp(5, 0)}}, false},
			{"rows of different lengths", []row{{ramp(4, 0)}, {ramp(3, 0)}, {ramp(5, 0)}}, false},
		} {
			if got := c.Has(in.rows); got != in.has {
				t.Errorf("%s: Has returned %v", in.what, got)
			}
		}
		if s := c.Stats(); s.Variants != 1 {
			t.Errorf("did %+v", s)
		}
		out, err := c.Call(background, batchOf(2, 5))
		k.OK(err)
		if !slices.Equal(out.Slice(), ramp(8, 6)) || !c.Has(batchOf(2, 0)) {
			t.Errorf("got %v", out.Slice())
		}
	})
}

func TestStageRowsRefusesDifferentLengths(t *testing.T) {
	eachMode(t, func(k *kit) {
		c := made(k, k.plusOne, [][]row{batchOf(2, 0)})
		_, err := c.Call(background, []row{{ramp(4, 0)}, {ramp(4, 0)}, {ramp(3, 0)}})
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "row 2 of the batch has 3 elements, but row 0 has 4") {
			t.Errorf("got %v", err)
		}
		if _, err := c.Call(background, batchOf(2, 5)); err != nil {
			t.Error(err)
		}
		var none *callable.Callable[[]row, int]
		if none.Has(nil) || callable.StageRows[uint32, row](nil, nil) != nil {
			t.Error("a nil object has something")
		}
		failing := func(t *callable.Trace[[]row]) (int, error) {
			if callable.StageRows[uint32](t, nil) != nil {
				k.Error("memory without a function")
			}
			return 0, nil
		}
		if _, err := created(k, failing, [][]row{batchOf(2, 0)}); err == nil || !strings.Contains(err.Error(), "StageRows without a function") {
			t.Errorf("got %v", err)
		}
	})
}

// If the function returns another length during a call, the call must not write past the memory.
func TestRowsThatChangeDuringACall(t *testing.T) {
	each(t, func(k *kit) {
		longer, reads := false, 0
		c := made(k, func(t *callable.Trace[[]row]) (*driver.HostBuffer[uint32], error) {
			x := callable.StageRows(t, func(in row) []uint32 {
				if reads++; longer && reads > 2 {
					return ramp(9, 0)
				}
				return in.x
			})
			return callable.Result(t, x), nil
		}, [][]row{batchOf(2, 0)})
		longer, reads = true, 0
		if _, err := c.Call(background, batchOf(2, 0)); err == nil || !strings.Contains(err.Error(), "row 0 of a batch was 4 elements long and is 9 now") {
			t.Errorf("got %v", err)
		}
	})
}

func TestStagingRowsAllocatesNothing(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Driver(t, new(graphtest.NullCapture))))
	in := batchOf(8, 0)
	c := made(k, k.plusOne, [][]row{in})
	k.None("Call", func() {
		_, err := c.Call(background, in)
		k.OK(err)
	})
	k.None("Has", func() {
		if !c.Has(in) {
			t.Error("no variant")
		}
	})
}

// Batches without rows, and rows without elements, are shapes like any other.
func TestEmptyRows(t *testing.T) {
	eachMode(t, func(k *kit) {
		for name, opts := range map[string][]callable.Option{"own memory": nil, "arena": {callable.WithArena(k.arena())}} {
			c := made(k, func(t *callable.Trace[[]row]) (*driver.HostBuffer[uint32], error) {
				return callable.Result(t, callable.StageRows(t, func(in row) []uint32 { return in.x })), nil
			}, nil, opts...)
			for range 3 {
				for _, in := range [][]row{nil, make([]row, 2), batchOf(2, 0), make([]row, 3)} {
					out, err := c.Call(background, in)
					k.OK(err)
					want := 0
					for _, r := range in {
						want += len(r.x)
					}
					if out.Len() != want || !c.Has(in) {
						t.Errorf("%s: %d rows have %d elements, want %d", name, len(in), out.Len(), want)
					}
				}
			}
			if s := c.Stats(); s.Variants != 4 {
				t.Errorf("%s: did %+v", name, s)
			}
		}
	})
}
