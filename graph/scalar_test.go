package graph_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// scalarOf returns a scalar that the test closes.
func scalarOf[T any](k *kit, v T) *graph.Scalar[T] {
	k.Helper()
	s, err := graph.NewScalar(k.c, v)
	k.ok(err)
	k.closeLater(s)
	return s
}

// fetch returns what is on the device once the kit's stream is done.
func fetch[T any](k *kit, m driver.MemoryOf[T]) []T {
	k.Helper()
	k.wait(k.s)
	got := make([]T, m.All().Len())
	k.ok(m.All().CopyTo(got))
	return got
}

// The graph adds the scalar, which changes between the replays, to memory.
func TestScalarHasOneAddressAndANewValueForEachReplay(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		step := scalarOf(k, uint32(1))
		one := b.View(0, 1)
		at := step.Ptr()
		sum, err := k.sum.Prepare(config, one, one, step, uint32(1))
		k.ok(err)
		x := k.exec(k.capture(func(sc *graph.Scope) error { return sc.Do(sum) }))
		want := uint32(1)
		for i := range uint32(200) {
			k.ok(step.Set(k.s, i))
			k.ok(x.Launch(k.s))
			want += i
		}
		if got := fetch(k, one)[0]; got != want {
			t.Errorf("the replays added up to %d, want %d", got, want)
		}
		if step.Ptr() != at {
			t.Error("the address moved")
		}
	})
}

type quad struct{ A, B, C, D uint32 }

// Whatever size they have, values are read when Set is called: many are on
// their way while the stream is held up, and each replay copies its own.
func TestScalarValuesOfAllSizesAreReadAtOnce(t *testing.T) {
	each(t, func(k *kit) {
		setMany(k, func(i int) uint8 { return uint8(i) })
		setMany(k, func(i int) int16 { return int16(-i) })
		setMany(k, func(i int) float32 { return float32(i) / 4 })
		setMany(k, func(i int) float64 { return float64(i) / 3 })
		setMany(k, func(i int) [3]byte { return [3]byte{byte(i), 2, byte(-i)} })
		setMany(k, func(i int) quad { return quad{uint32(i), 1, ^uint32(i), 3} })
	})
}

func setMany[T comparable](k *kit, value func(i int) T) {
	k.Helper()
	const n = 50 // fewer than a scalar holds: Set must not wait for this stream
	s := scalarOf(k, value(1000))
	if got := fetch(k, s)[0]; got != value(1000) {
		k.Fatalf("%v holds %v at first, want %v", s, got, value(1000))
	}
	all, err := driver.Alloc[T](k.c, n)
	k.ok(err)
	k.closeLater(all)
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	defer open()
	k.ok(k.s.HostFunc(func() { <-gate }))
	for i := range n {
		k.ok(s.Set(k.s, value(i)))
		keep, err := driver.CopyDevice[T](all.View(i, i+1), s)
		k.ok(err)
		k.ok(k.s.Do(keep))
	}
	open()
	for i, got := range fetch(k, all) {
		if got != value(i) {
			k.Fatalf("%v: replay %d found %v, want %v", s, i, got, value(i))
		}
	}
}

// More values than there is room for: Set waits until the device has read one.
func TestScalarSetWaitsRatherThanOverwrite(t *testing.T) {
	each(t, func(k *kit) {
		const n = 500
		s := scalarOf(k, uint64(0))
		all, err := driver.Alloc[uint64](k.c, n)
		k.ok(err)
		k.closeLater(all)
		for i := range n {
			k.ok(s.Set(k.s, uint64(i)<<40|7))
			keep, err := driver.CopyDevice[uint64](all.View(i, i+1), s)
			k.ok(err)
			k.ok(k.s.Do(keep))
		}
		for i, got := range fetch(k, all) {
			if got != uint64(i)<<40|7 {
				t.Fatalf("value %d is %#x", i, got)
			}
		}
	})
}

func TestScalarRefusesWhatWouldNotDo(t *testing.T) {
	each(t, func(k *kit) {
		s := scalarOf(k, uint64(3))
		_, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error { return s.Set(sc.Stream(), 4) })
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) || !strings.Contains(err.Error(), "replay") {
			t.Errorf("Set in a capture: %v", err)
		}
		k.usable(k.s)
		if _, err := graph.NewScalar(k.c, "text"); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("scalar of a string: %v", err)
		}
		other := k.stream()
		k.ok(other.Close())
		if err := s.Set(other, 1); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed stream: %v", err)
		}
		if err := s.Set(nil, 1); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("nil stream: %v", err)
		}
		if err := (*graph.Scalar[uint32])(nil).Set(k.s, 1); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("nil scalar: %v", err)
		}
		k.ok((*graph.Scalar[uint32])(nil).Close())
		for _, c := range []interface {
			Close() error
		}{scalarOf(k, uint32(1)), scalarOf(k, uint64(1))} {
			k.ok(c.Close())
			k.ok(c.Close())
		}
		k.ok(s.Close())
		if err := s.Set(k.s, 1); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed scalar: %v", err)
		}
		if got := fetch(k, scalarOf(k, uint64(5)))[0]; got != 5 {
			t.Errorf("a new scalar holds %d", got)
		}
	})
}

func TestScalarOfAnotherDriverIsRefused(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	other := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	if err := scalarOf(k, uint32(1)).Set(other.s, 2); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Errorf("got %v", err)
	}
}

// A graph keeps the scalar it refers to.
func TestGraphKeepsItsScalar(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		one := b.View(0, 1)
		s, err := graph.NewScalar(k.c, uint32(41))
		k.ok(err)
		sum, err := k.sum.Prepare(config, one, one, s, uint32(1))
		k.ok(err)
		g := k.graph()
		k.add(g, sum)
		x := k.exec(g)
		k.ok(s.Close())
		k.run(x)
		if got := fetch(k, one)[0]; got != 42 {
			t.Errorf("got %d", got)
		}
	})
}

func TestScalarSetAllocatesNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) { scalarSetAllocs(newKit(t, gputest.Context(t, nullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { scalarSetAllocs(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func scalarSetAllocs(k *kit) {
	k.Helper()
	small, wide, big := scalarOf(k, uint32(0)), scalarOf(k, 0.5), scalarOf(k, quad{})
	i := uint32(0)
	for what, set := range map[string]func() error{
		"4 bytes":  func() error { return small.Set(k.s, i) },
		"8 bytes":  func() error { return wide.Set(k.s, float64(i)) },
		"16 bytes": func() error { return big.Set(k.s, quad{A: i}) },
	} {
		k.none(what, func() {
			i++
			k.ok(set())
		})
	}
	k.wait(k.s)
}
