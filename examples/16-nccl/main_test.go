package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/examples/internal/demotest"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// The stand-in for NCCL needs only two devices, which the emulator has.
func TestExampleWithAStandIn(t *testing.T) {
	demotest.RunOn(t, 2, func(d *demo.Demo) error { return withStandIn(d, "") },
		" devices are connected by a stand-in", "captured one graph over all devices: ",
		"9 replays took ", "after 10 steps the parameters are right on all ")
}

func TestMoreDevicesThanTwo(t *testing.T) {
	var out bytes.Buffer
	if err := demo.RunOn(5, "emulator", &out, func(d *demo.Demo) error { return withStandIn(d, "") }); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "right on all 5 devices") {
		t.Errorf("it prints\n%s", out.String())
	}
}

// withStandIn runs the example with the stand-in. If fails is not empty, it names the NCCL
// function that fails.
func withStandIn(d *demo.Demo, fails string) error {
	contexts, err := d.Contexts(most)
	if err != nil {
		return err
	}
	s, err := newStandIn(d, contexts)
	if err != nil {
		return err
	}
	s.fails = fails
	d.Close(closer(func() error { // closed last: closers run in reverse order
		if s.comms != 0 && fails != "ncclCommDestroy" {
			return fmt.Errorf("%d communicators are left", s.comms)
		}
		if s.group != 0 && fails != "ncclGroupEnd" {
			return fmt.Errorf("a group is open")
		}
		return nil
	}))
	return errors.Join(train(d, s, contexts), s.failed)
}

type closer func() error

func (c closer) Close() error { return c() }

func TestStatusIsAnErrorWithItsWords(t *testing.T) {
	for _, name := range []string{"ncclCommInitAll", "ncclGroupStart", "ncclAllReduce", "ncclGroupEnd", "ncclCommDestroy"} {
		err := demo.RunOn(2, "emulator", io.Discard, func(d *demo.Demo) error { return withStandIn(d, name) })
		want := name + ": a status of the stand-in (1): what it says about it"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestLibraryThatIsNotNCCLIsRefused(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	_, err := newWorld(c.Device().Driver().Library(), []*driver.Context{c})
	if !errors.Is(err, loader.ErrSymbolNotFound) || !strings.Contains(err.Error(), "nccl") {
		t.Errorf("error %v", err)
	}
}

func TestExampleSaysWhyThereIsNothingToShow(t *testing.T) {
	var out bytes.Buffer
	if err := demo.Run("emulator", &out, run); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "There is nothing to show: NCCL moves data between GPUs only.") {
		t.Errorf("it prints\n%s", out.String())
	}
}

// If the environment variable names a library, the example must not try any other. If that library
// cannot be opened, the example must fail instead of reporting that NCCL is missing.
func TestLibraryThatTheVariableNamesIsTheOnlyOneTried(t *testing.T) {
	t.Setenv(nccl.Variable, "/nonexistent/libnccl.so.2")
	var open *loader.OpenError
	if _, _, err := openNCCL(); !errors.As(err, &open) || len(open.Tried) != 1 {
		t.Errorf("error %v", err)
	}
}

// With only one GPU or without NCCL, the example must report what is missing.
func TestExampleOnGPUs(t *testing.T) {
	d := gputest.GPU(t)
	devices, err := d.DeviceCount()
	if err != nil {
		t.Fatal(err)
	}
	want := "after 10 steps the parameters are right on all "
	if _, _, err := openNCCL(); demo.NotInstalled(nccl, err) {
		t.Logf("without NCCL: %v", err)
		want = "There is nothing to show: NCCL is not installed. Install it"
	} else if err != nil {
		t.Fatal(err)
	}
	if devices < 2 {
		want = "There is nothing to show: two GPUs are needed at least, and there is one."
	}
	var out bytes.Buffer
	if err := demo.Run("gpu", &out, run); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), want) {
		t.Errorf("it does not print %q:\n%s", want, out.String())
	}
	t.Logf("%s", out.String())
}

var _ loader.Library = (*standIn)(nil)
