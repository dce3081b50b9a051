package driver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// Codes whose texts say that the context is lost match ErrContextLost, and no
// others do.
func TestCodesThatLoseTheContext(t *testing.T) {
	lost := 0
	for code := range driver.CUresult(1000) {
		is, says := errors.Is(code, driver.ErrContextLost), strings.Contains(code.Error(), "context is lost")
		if is != says {
			t.Errorf("%v: matches: %v, says so: %v", code, is, says)
		}
		if is {
			lost++
		}
	}
	if lost == 0 || errors.Is(driver.CUDA_ERROR_OUT_OF_MEMORY, driver.ErrContextLost) {
		t.Errorf("%d codes lose the context", lost)
	}
}

func TestLostOfAContextThatWorksOrIsClosed(t *testing.T) {
	d := gputest.Emulator(t, emulator.Config{})
	dev, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Lost(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for c, want := range map[*driver.Context]error{c: driver.ErrClosed, nil: driver.CUDA_ERROR_INVALID_VALUE} {
		if err := c.Lost(); !errors.Is(err, want) || errors.Is(err, driver.ErrContextLost) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// A context that is closed while it is asked is not lost.
func TestLostWhileTheContextIsClosed(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	d := gputest.Driver(t, lib)
	c := must(must(d.Device(0))(t).NewContext(0))(t)
	asked := false
	lib.Before(func(symbol string) {
		if symbol == "cuMemGetInfo_v2" {
			asked = true
			noError(t, c.Close())
		}
	})
	defer lib.Before(nil)
	noError(t, c.Lost())
	if !asked {
		t.Error("the driver was not asked")
	}
	wantError(t, c.Lost(), driver.ErrClosed)
}

// A service asks whether its device still works before it answers that it does.
func ExampleContext_Lost() {
	c := exampleContext()
	health := func() string {
		if err := c.Lost(); errors.Is(err, driver.ErrContextLost) {
			return "the process has to end"
		}
		return "fine"
	}
	fmt.Println(health())
	check(c.Close())
	// Output: fine
}
