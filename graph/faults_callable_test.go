package graph_test

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
)

func init() {
	flows = append(flows,
		flow{"callable", func(k *kit, _ *driver.Buffer[uint32]) error {
			in := affine{ramp(4, 1), 2, 3}
			c, err := callable.New(k.s, k.affine, []affine{in})
			if err != nil {
				return err
			}
			_, err = c.Call(background, in)
			return errors.Join(err, c.Close())
		}},
		flow{"callable with other constants, then another shape", func(k *kit, _ *driver.Buffer[uint32]) error {
			c, err := callable.New(k.s, k.affine, []affine{{ramp(4, 1), 2, 3}}, callable.WithVariants(1))
			if err != nil {
				return err
			}
			_, err = c.Call(background, affine{ramp(4, 1), 4, 3})
			if err == nil {
				_, err = c.Call(background, affine{ramp(5, 1), 4, 3})
			}
			return errors.Join(err, c.Close())
		}},
		flow{"callable, started twice", func(k *kit, _ *driver.Buffer[uint32]) error {
			in := affine{ramp(4, 1), 2, 3}
			c, err := callable.New(k.s, k.affine, []affine{in})
			if err != nil {
				return err
			}
			return errors.Join(startTwice(c, in), c.Close())
		}})
}

// affine is the input of a function that returns x*times + add.
type affine struct {
	x          []uint32
	times, add uint32
}

type affineCallable = callable.Callable[affine, *driver.HostBuffer[uint32]]

func (k *kit) affine(t *callable.Trace[affine]) (*driver.HostBuffer[uint32], error) {
	x := callable.StageSlice(t, func(in affine) []uint32 { return in.x })
	times := callable.Constant(t, func(in affine) uint32 { return in.times })
	add := callable.Constant(t, func(in affine) uint32 { return in.add })
	t.Launch(k.times, config, x, uint32(x.Len()), times)
	t.Launch(k.plus, config, x, uint32(x.Len()), add)
	return callable.Result(t, x), nil
}

func ramp(n int, from uint32) []uint32 {
	x := make([]uint32, n)
	for i := range x {
		x[i] = from + uint32(i)
	}
	return x
}

func startTwice(c *affineCallable, in affine) error {
	if _, err := c.Start(background, in); err != nil {
		return err
	}
	p, err := c.Start(background, in)
	if err != nil {
		return err
	}
	_, err = p.Wait(background)
	return err
}
