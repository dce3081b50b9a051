package emulator

import (
	"errors"
	"log/slog"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/jit"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// readImage copies the PTX that a load function was given.
func (e *Emulator) readImage(image jit.Image, o *jit.Options) ([]jit.Source, result) {
	sources, err := image.Sources(e.target(e.devices[0]).Engine.ComputeCapability)
	switch {
	case err == nil:
		return sources, success
	case errors.Is(err, jit.ErrNotCode):
		return nil, errInvalidImage
	}
	msg := err.Error() + ": the emulator executes PTX text only; compile with nvcc -ptx or keep the PTX"
	o.Fail(msg)
	e.say(slog.LevelError, "module refused", "reason", msg)
	return nil, cu.CUDA_ERROR_NO_BINARY_FOR_GPU
}

// compile compiles sources for the context. Compiling takes time, so the lock is released
// meanwhile.
func (ctx *cudaContext) compile(sources []jit.Source, o *jit.Options) (code *vm.Module, r result) {
	e := ctx.e
	var err error
	target := e.target(ctx.dev)
	e.unlocked(func() { code, r, err = target.Compile(sources) })
	if err == nil {
		return code, success
	}
	log := jit.Text(err)
	o.Fail(log)
	e.say(slog.LevelError, "module refused", "result", uint32(r), "log", log)
	return nil, r
}

// target describes a device to the compiler.
func (e *Emulator) target(d *device) jit.Target {
	return jit.Target{
		DriverVersion: e.cfg.DriverVersion,
		Capability:    e.cfg.ComputeCapability,
		Engine: vm.CompileOptions{
			Memory:            e.mem,
			Device:            d.ordinal,
			ComputeCapability: e.cfg.ComputeCapability[0]*10 + e.cfg.ComputeCapability[1],
			Externs:           map[string]vm.Extern{"cudaGraphSetConditional": setConditional},
			Tag:               "a module's variable",
			MemoryLimit:       max(d.left(), 1),
			VariableLimit:     e.cfg.Limits.Variables,
		},
	}
}
