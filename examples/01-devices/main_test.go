package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestExample(t *testing.T) {
	demotest.Run(t, run, "a driver for CUDA ", "stream-ordered allocation        true", "device 0: ", "supports ", "GiB are free")
}

// With two devices, the example must report for each device whether it can access the other.
func TestPeersAreListed(t *testing.T) {
	var out bytes.Buffer
	if err := demo.RunOn(2, "emulator", &out, run); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"device 0: ", "reads and writes the memory of device 1 directly: true",
		"device 1: ", "reads and writes the memory of device 0 directly: true",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not print %q:\n%s", want, out.String())
		}
	}
}
