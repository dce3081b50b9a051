// Package anywhere opens a driver on every machine: the system's where a GPU can be
// used, else an emulated one.
//
// It is for examples, first programs and tools. It links the emulator, some
// megabytes, into the program: one that needs a GPU calls driver.Open instead.
package anywhere

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

// Open opens the system's driver. If that fails or has no device, Open logs why, as a
// warning of slog's default logger, and opens an emulated driver with one device. A
// program therefore never runs on the emulator without saying so.
func Open() (*driver.Driver, error) { return OpenWith(emulator.Config{}) }

// OpenWith is Open with the configuration of the emulated machine.
func OpenWith(cfg emulator.Config) (*driver.Driver, error) {
	return open(driver.Open, slog.Default(), cfg)
}

func open(system func() (*driver.Driver, error), log *slog.Logger, cfg emulator.Config) (*driver.Driver, error) {
	d, err := system()
	if err == nil {
		return d, nil
	}
	log.Warn("no GPU can be used, running on the emulator", "reason", err.Error()) // one line of it
	lib := emulator.New(cfg)
	d, failed := driver.New(lib)
	if failed != nil {
		return nil, fmt.Errorf("no GPU can be used (%w) and no emulator: %w", err, errors.Join(failed, lib.Close()))
	}
	return d, nil
}
