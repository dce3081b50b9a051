package main

import (
	"errors"
	"io"
	"log/slog"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

// emulated is the architecture of the emulated GPU.
const emulated = "sm_90"

type machine struct {
	d   *driver.Driver
	ctx *driver.Context
}

func newMachine() (*machine, error) {
	emu := emulator.New(emulator.Config{ComputeCapability: [2]int{9, 0}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	d, err := driver.New(emu)
	if err != nil {
		return nil, err
	}
	dev, err := d.Device(0)
	if err != nil {
		return nil, err
	}
	ctx, err := dev.PrimaryContext()
	return &machine{d, ctx}, err
}

func (m *machine) close() error { return errors.Join(m.ctx.Close(), m.d.Close()) }

// load returns why the emulator rejects a module, or "" if it loads the module. If the module needs a
// feature that the emulator lacks, unsupported is true, and the reason says nothing about the
// validity of the module.
func (m *machine) load(text string) (why string, unsupported bool) {
	mod, err := m.ctx.LoadModule([]byte(text))
	switch {
	case err == nil:
		if err := mod.Close(); err != nil {
			return err.Error(), false
		}
		return "", false
	case errors.Is(err, driver.CUDA_ERROR_NOT_SUPPORTED):
		return err.Error(), true
	}
	return err.Error(), false
}
