package demo

import "github.com/purecuda/cuda/driver"

// Contexts returns the primary contexts of the first n devices, or of all devices if there
// are fewer. The first is d.Context.
func (d *Demo) Contexts(n int) ([]*driver.Context, error) {
	drv := d.Context.Device().Driver()
	found, err := drv.DeviceCount()
	if err != nil {
		return nil, err
	}
	contexts := []*driver.Context{d.Context}
	for i := 1; i < min(n, found); i++ {
		c, err := primary(drv, i)
		if err != nil {
			return nil, err
		}
		d.contexts = append(d.contexts, c)
		d.Close(c)
		contexts = append(contexts, c)
	}
	return contexts, nil
}

func primary(drv *driver.Driver, ordinal int) (*driver.Context, error) {
	device, err := drv.Device(ordinal)
	if err != nil {
		return nil, err
	}
	return device.PrimaryContext()
}

// KernelsOn is like Kernels, but for the device of c.
func (d *Demo) KernelsOn(c *driver.Context, ptx []byte, kernels map[string]**driver.Kernel) error {
	m, err := c.LoadModule(ptx)
	if err != nil {
		return err
	}
	d.Close(m)
	for name, k := range kernels {
		if *k, err = m.Kernel(name); err != nil {
			return err
		}
	}
	return nil
}

// StreamOn creates a stream on the device of c.
func (d *Demo) StreamOn(c *driver.Context) (*driver.Stream, error) {
	s, err := c.NewStream()
	if err != nil {
		return nil, err
	}
	d.Close(s)
	return s, nil
}

// MemoryOn is like Memory, but for the device of c.
func MemoryOn[T any](d *Demo, c *driver.Context, n int, v T) (*driver.Buffer[T], error) {
	b, err := driver.Alloc[T](c, n)
	if err != nil {
		return nil, err
	}
	d.Close(b)
	return b, b.Fill(v)
}
