package graphtest

import (
	"log"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

// Open returns a context, a stream, kernels and memory filled with ones, for examples.
func Open() (c *driver.Context, s *driver.Stream, plus, times *driver.Kernel, b *driver.Buffer[uint32]) {
	return OpenWith(emulator.Config{})
}

// OpenWith does the same on an emulator with the given configuration.
func OpenWith(config emulator.Config) (c *driver.Context, s *driver.Stream, plus, times *driver.Kernel, b *driver.Buffer[uint32]) {
	d, err := driver.New(emulator.New(config))
	must(err)
	dev, err := d.Device(0)
	must(err)
	c, err = dev.PrimaryContext()
	must(err)
	s, err = c.NewStream()
	must(err)
	m, err := c.LoadModule([]byte(Kernels))
	must(err)
	plus, err = m.Kernel("plus")
	must(err)
	times, err = m.Kernel("times")
	must(err)
	b, err = driver.Alloc[uint32](c, Elems)
	must(err)
	must(b.Fill(1))
	return c, s, plus, times, b
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
