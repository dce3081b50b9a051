// Package anywhere opens a driver on every machine: the system's if a GPU can be used, otherwise
// an emulated one.
//
// It is for examples, first programs and tools. It links several megabytes of emulator into the
// program, so a program that requires a GPU should call driver.Open instead.
package anywhere

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

// Open opens the system's driver. If that fails or finds no device, Open logs the reason as a
// warning to slog's default logger and opens an emulated driver with one device. So a program
// never runs on the emulator silently.
func Open() (*driver.Driver, error) { return OpenWith(emulator.Config{}) }

// OpenWith is Open with a configuration for the emulated machine.
func OpenWith(cfg emulator.Config) (*driver.Driver, error) {
	return open(driver.Open, slog.Default(), cfg)
}

func open(system func() (*driver.Driver, error), log *slog.Logger, cfg emulator.Config) (*driver.Driver, error) {
	d, err := system()
	if err == nil {
		return d, nil
	}
	log.Warn("no GPU can be used, running on the emulator", "reason", err.Error()) // only one line of the error
	lib := emulator.New(cfg)
	d, failed := driver.New(lib)
	if failed != nil {
		return nil, fmt.Errorf("no GPU can be used (%w) and no emulator: %w", err, errors.Join(failed, lib.Close()))
	}
	return d, nil
}
