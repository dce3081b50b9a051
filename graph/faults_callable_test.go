package graph_test

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

func init() {
	flows = append(flows,
		flow{"callable", func(k *kit, _ *driver.Buffer[uint32]) error {
			in := affine{ramp(4, 1), 2, 3}
			c, err := graph.NewCallable(k.s, k.affine, []affine{in})
			if err != nil {
				return err
			}
			_, err = c.Call(background, in)
			return errors.Join(err, c.Close())
		}},
		flow{"callable with other constants, then another shape", func(k *kit, _ *driver.Buffer[uint32]) error {
			c, err := graph.NewCallable(k.s, k.affine, []affine{{ramp(4, 1), 2, 3}}, graph.CallableVariants(1))
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
			c, err := graph.NewCallable(k.s, k.affine, []affine{in})
			if err != nil {
				return err
			}
			return errors.Join(startTwice(c, in), c.Close())
		}})
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
