// Package anywhere opens a driver on any machine: the system's driver if there is a usable GPU, and
// otherwise an emulator.
//
// Use it in examples, first programs and tools. The emulator adds several megabytes to a program,
// so a program that requires a GPU should call driver.Open instead.
package anywhere

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

// Open opens the system's driver. If that fails or there is no device, Open opens an emulator with
// one device. It logs the reason as a warning to slog's default logger, so a program never runs on
// the emulator silently.
func Open() (*driver.Driver, error) { return OpenWith(emulator.Config{}) }

// OpenWith is like Open, but uses cfg if it opens an emulator.
func OpenWith(cfg emulator.Config) (*driver.Driver, error) {
	return open(driver.Open, slog.Default(), cfg)
}

func open(system func() (*driver.Driver, error), log *slog.Logger, cfg emulator.Config) (*driver.Driver, error) {
	d, err := system()
	if err == nil {
		return d, nil
	}
	log.Warn("no GPU can be used, running on the emulator", "reason", err.Error())
	lib := emulator.New(cfg)
	d, failed := driver.New(lib)
	if failed != nil {
		return nil, fmt.Errorf("no GPU can be used (%w) and no emulator: %w", err, errors.Join(failed, lib.Close()))
	}
	return d, nil
}
