package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/examples/internal/demotest"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// With the stand-in for cuBLAS, the example needs no GPU.
func TestExampleWithAStandIn(t *testing.T) {
	demotest.Run(t, func(d *demo.Demo) error {
		s, err := newStandIn(d)
		if err != nil {
			return err
		}
		err = layers(d, s)
		d.Close(closer(func() error {
			if s.handles != 1 { // checked after the example has closed its handle
				return fmt.Errorf("%d handles are open", s.handles)
			}
			return nil
		}))
		return err
	}, "captured a graph of 6 nodes, 2 of them cuBLAS's", "3 replays, each with another input: all results are right")
}

type closer func() error

func (c closer) Close() error { return c() }

func TestStatusIsAnErrorWithItsWords(t *testing.T) {
	d := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	b, err := newBLAS(&standIn{driver: d.Driver()}, d)
	if err != nil {
		t.Fatal(err)
	}
	b.handle = 0
	if err := b.Close(); err == nil || err.Error() != "cublasDestroy: a status of the stand-in (1)" {
		t.Errorf("error %v", err)
	}
}

func TestLibraryThatIsNotCUBLASIsRefused(t *testing.T) {
	d := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	if _, err := newBLAS(d.Driver().Library(), d); err == nil || !strings.Contains(err.Error(), "cublas") {
		t.Errorf("error %v", err)
	}
}

func TestExampleSaysWhyThereIsNothingToShow(t *testing.T) {
	var out bytes.Buffer
	if err := demo.Run("emulator", &out, run); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "cuBLAS computes on a GPU only") {
		t.Errorf("it prints\n%s", out.String())
	}
}

// On a GPU, the example must compute with cuBLAS or report that cuBLAS is missing.
func TestExampleOnAGPU(t *testing.T) {
	c := gputest.Context(t, gputest.GPU(t))
	want := "3 replays, each with another input: all results are right"
	if _, err := openCUBLAS(c); demo.NotInstalled(cublas, err) {
		t.Logf("without cuBLAS: %v", err)
		want = "cuBLAS is not installed. Install"
	} else if err != nil {
		t.Fatal(err)
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
