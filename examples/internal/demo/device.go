package demo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
)

// open opens the first GPU. With "auto", it opens the emulator if there is no GPU, and
// prints the reason.
func (d *Demo) open(which string) error {
	switch which {
	case "gpu":
		return d.openGPU()
	case "emulator":
		d.Printf("Running on the emulator, as asked.")
		return d.openEmulator()
	case "auto":
		err := d.openGPU()
		if err == nil {
			return nil
		}
		d.Printf("No GPU can be used (%s); running on the emulator.", reason(err))
		return d.openEmulator()
	}
	return fmt.Errorf("-device %s: choose auto, gpu or emulator", which)
}

func (d *Demo) openGPU() error {
	drv, err := driver.Open()
	if err != nil {
		return err
	}
	if err := d.use(drv); err != nil {
		return err
	}
	name, err := d.Context.Device().Name()
	if err != nil {
		return err
	}
	d.Printf("Running on %s.", name)
	return nil
}

func (d *Demo) openEmulator() error {
	return d.openEmulated(emulator.New(emulator.Config{Devices: d.devices}))
}

// openEmulated opens lib, an emulator or a library that wraps one.
func (d *Demo) openEmulated(lib loader.Library) error {
	drv, err := driver.New(lib)
	if err != nil {
		return errors.Join(err, lib.Close())
	}
	d.Emulated = true
	return d.use(drv)
}

func (d *Demo) use(drv *driver.Driver) error {
	device, err := drv.Device(0)
	if err != nil {
		return errors.Join(err, drv.Close())
	}
	if d.Context, err = device.PrimaryContext(); err != nil {
		return errors.Join(err, drv.Close())
	}
	d.contexts = append(d.contexts, d.Context)
	d.Close(drv, d.Context)
	return nil
}

// reason returns one line that explains why there is no GPU.
func reason(err error) string {
	var open *loader.OpenError
	if errors.As(err, &open) && len(open.Tried) > 1 {
		return fmt.Sprintf("%v, nor %d other names", open.Tried[0].Err, len(open.Tried)-1)
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
