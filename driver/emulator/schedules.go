package emulator

import (
	"fmt"

	"github.com/purecuda/cuda/driver/cu"
)

// ScheduleError says which schedule made a program fail. An emulator with that Seed and one worker
// repeats the failure.
type ScheduleError struct {
	Seed uint64
	Err  error
}

// Error returns a message with the configuration that repeats the failure.
func (e *ScheduleError) Error() string {
	if e == nil {
		return "no schedule failed"
	}
	return fmt.Sprintf("with Config{Seed: %d, Workers: 1}: %v", e.Seed, e.Err)
}

// Unwrap returns the error that the program failed with.
func (e *ScheduleError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// Schedules runs a program on n emulators, each of which runs blocks and warps in a different
// order: first the usual order, then those of the seeds 1 to n-1. It stops at the first failure,
// which is the program's own error or a finding of cfg.Check, and returns a *ScheduleError. Each
// emulator is closed after its run, so leaks are among the findings if CheckLeaks is set.
//
// A program whose result depends on the order fails only for some seeds. The seed in the error
// repeats the failure.
func Schedules(n int, cfg Config, run func(*Emulator) error) error {
	if run == nil {
		return fmt.Errorf("no program to run: %w", cu.CUDA_ERROR_INVALID_VALUE)
	}
	cfg.Workers = 1
	for seed := range uint64(n) {
		cfg.Seed = seed
		if err := runSchedule(cfg, run); err != nil {
			return &ScheduleError{seed, err}
		}
	}
	return nil
}

func runSchedule(cfg Config, run func(*Emulator) error) error {
	e := New(cfg)
	defer e.Close()
	if err := run(e); err != nil {
		return err
	}
	if err := e.Close(); err != nil {
		return err
	}
	if found := e.Findings(); len(found) > 0 {
		return fmt.Errorf("%d findings, the first: %v", len(found), found[0])
	}
	return nil
}
