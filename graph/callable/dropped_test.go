package callable_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/internal/gputest"
)

// If the variant is closed after Wait has begun, but before it waits for the event, the error must
// be the documented one.
func TestWaitWhileTheVariantIsClosed(t *testing.T) {
	eachMode(t, func(k *kit) {
		in := affine{ramp(3, 5), 3, 1}
		for name, end := range map[string]func(c *affineCallable) error{
			"closed": func(c *affineCallable) error { return c.Close() },
			"evicted": func(c *affineCallable) error {
				_, err := c.Call(background, affine{x: ramp(4, 0)})
				return err
			},
		} {
			c := made(k, k.affine, nil, callable.WithVariants(1))
			p, err := c.Start(background, in)
			k.OK(err)
			_, err = p.WaitWith(background, func() { k.OK(end(c)) })
			if !errors.Is(err, callable.ErrOutputGone) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

// A Callable that becomes unreachable without Close must leave nothing in the arena.
func TestDroppedCallableLeavesTheArena(t *testing.T) {
	each(t, func(k *kit) {
		a := k.arena()
		for _, c := range []struct {
			opts    []callable.Option
			objects int
		}{{nil, 14}, {[]callable.Option{callable.WithAdaptive(10)}, 12}} {
			ties := k.dropped(append(c.opts, callable.WithArena(a)))
			gputest.ExpectDropped(t, k.C.Device().Driver(), c.objects)
			k.Eventually("the plans of a dropped Callable disappear", func() bool {
				runtime.GC()
				return len(a.Report().Plans) == 0 && ties() == 0
			})
		}
	})
}

//go:noinline
func (k *kit) dropped(opts []callable.Option) (ties func() int) {
	c, err := callable.New(k.S, k.wide, nil, opts...)
	k.OK(err)
	for _, n := range []int{1, 2} {
		k.answers(c, affine{ramp(n, 1), 2, 3})
	}
	return c.Ties()
}
