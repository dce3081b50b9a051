package main

import (
	"regexp"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

// On the emulator, the comparison runs with the Go kernels on both sides.
func TestCompare(t *testing.T) {
	*threads, *calls, *turnCount = 256, 4, 3
	image, err := compile()
	if err != nil {
		t.Fatal(err)
	}
	d, err := driver.New(emulator.New(emulator.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := compare(d, image, image, "the same kernels", regexp.MustCompile("^(Exp|Pow|Sin)")); err != nil {
		t.Fatal(err)
	}
}
