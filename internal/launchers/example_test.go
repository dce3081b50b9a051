package launchers_test

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/launchers"
)

// A launcher accepts all arguments at each launch and does not allocate.
func Example() {
	if err := fill(); err != nil {
		fmt.Println(err)
	}
	// Output: [7 7 7 7]
}

func fill() error {
	d, err := driver.New(emulator.New(emulator.Config{}))
	if err != nil {
		return err
	}
	defer d.Close()
	dev, err := d.Device(0)
	if err != nil {
		return err
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		return err
	}
	defer c.Close()
	x, err := driver.Alloc[uint32](c, 4)
	if err != nil {
		return err
	}
	defer x.Close()
	kernel, err := launchers.FillB32In(c)
	if err != nil {
		return err
	}
	if err := kernel.Do(c.LegacyStream(), kernel.Grid(x.Len()), x.All(), uint64(x.Len()), 7); err != nil {
		return err
	}
	values := make([]uint32, x.Len())
	if err := x.CopyTo(values); err != nil {
		return err
	}
	fmt.Println(values)
	return nil
}
