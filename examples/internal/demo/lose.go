package demo

import (
	"context"
	_ "embed"
	"log/slog"
	"time"

	"github.com/purecuda/cuda/driver"
)

//go:embed lose.ptx
var losePTX []byte

// LoseAfter calls Lose after a time, unless the time is 0.
func (d *Demo) LoseAfter(t time.Duration) {
	if t > 0 {
		time.AfterFunc(t, func() { slog.Warn("losing the GPU", "error", d.Lose()) })
	}
}

// Lose launches a kernel that writes to an invalid address, and returns the driver's error. The
// context is unusable afterwards.
func (d *Demo) Lose() error {
	m, err := d.Context.LoadModule(losePTX)
	if err != nil {
		return err
	}
	defer m.Close()
	k, err := m.Kernel("lose")
	if err != nil {
		return err
	}
	launch, err := k.Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)})
	if err != nil {
		return err
	}
	if err := d.Stream.Do(launch); err != nil {
		return err
	}
	return d.Stream.Wait(context.Background())
}
