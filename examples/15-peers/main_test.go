package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestExample(t *testing.T) {
	demotest.RunOn(t, 2, run, "one graph for both devices: ", "after 50 steps 46.0% of the heat is on the other device, and all cells are right")
}

func TestExampleSaysThatItTakesTwoDevices(t *testing.T) {
	var out bytes.Buffer
	if err := demo.Run("emulator", &out, run); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "There is nothing to show: two GPUs work together here, and there is one.") {
		t.Errorf("it prints\n%s", out.String())
	}
}
