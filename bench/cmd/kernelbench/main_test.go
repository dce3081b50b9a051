package main

import (
	"regexp"
	"testing"

	"github.com/purecuda/cuda/bench/kernels"
	"github.com/purecuda/cuda/bench/kernels/cases"
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

// The test runs the comparison on the emulator with small sizes. If the results of a kernel and its
// counterpart differ, the comparison must fail.
func TestRow(t *testing.T) {
	*turns = 3
	out, err := kernels.Compile(go2ptx.Config{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := driver.New(emulator.New(emulator.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	all := cases.Cases
	defer func() { cases.Cases = all }()
	saxpy := all[0]
	saxpy.Sizes = saxpy.Small
	sameArgs := saxpy.New
	saxpy.New = func(m *cases.Memory, n int) *cases.Work { // the same kernel serves as its own counterpart
		w := sameArgs(m, n)
		w.CUDA = w.Args
		return w
	}
	wrong := saxpy
	wrong.New = func(m *cases.Memory, n int) *cases.Work {
		w := saxpy.New(m, n)
		w.CUDA = append([]any{}, w.Args...)
		w.CUDA[2] = float32(5)
		return w
	}
	only := regexp.MustCompile("")
	for _, c := range []struct {
		k    cases.Case
		good bool
	}{{saxpy, true}, {wrong, false}} {
		cases.Cases = []cases.Case{c.k}
		if _, err := compare(d, [3][]byte{out.PTX, out.PTX, out.PTX}, "the same kernels", only); (err == nil) != c.good {
			t.Errorf("the error is %v, and it should be good: %t", err, c.good)
		}
	}
}
