package language_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/language/kernels"
	"github.com/purecuda/cuda/ptx/go2ptx"
	"github.com/purecuda/cuda/ptx/gpu"
)

// inputs are the inputs of all threads.
var inputs = []int64{7, 3, -5, 2, 0, 1, 100, -7, 1 << 40, 12, -1, -1, 4, 0, 127, 200}

type slice struct {
	ptr      driver.CUdeviceptr
	len, cap int64
}

func sliceOf(b *driver.Buffer[int64]) slice {
	return slice{b.Ptr(), int64(b.Len()), int64(b.Len())}
}

func source(t *testing.T) go2ptx.Package {
	t.Helper()
	p := go2ptx.Package{Path: "kernels"}
	names, err := fs.Glob(kernels.Source, "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := kernels.Source.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p.Files = append(p.Files, go2ptx.File{Name: name, Data: data})
	}
	return p
}

// On a device, each kernel must produce the same bits, or the same fault, as in Go.
func TestKernels(t *testing.T) {
	out, err := go2ptx.Compile(go2ptx.Config{Package: source(t), NoFMA: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Kernels) != len(kernels.All) {
		t.Errorf("%d kernels are compiled, %d are listed", len(out.Kernels), len(kernels.All))
	}
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m, err := c.LoadModule(out.PTX)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		for _, k := range kernels.All {
			t.Run(k.Name, func(t *testing.T) { compare(t, c, m, k) })
		}
	})
}

func compare(t *testing.T, c *driver.Context, m *driver.Module, k kernels.Kernel) {
	want := make([]int64, kernels.Threads*kernels.Outputs)
	panicked := gpu.Run(gpu.D1(1), gpu.D1(kernels.Threads), func(t gpu.Thread) { k.Run(t, slices.Clone(inputs), want) })
	got, err := launch(t, c, m, k.Name)
	var fault *driver.KernelFault
	switch {
	case panicked != nil && errors.As(err, &fault):
		if fault.Kind != "panic" || fault.Message == "" || !strings.Contains(panicked.Error(), fault.Message) {
			t.Errorf("the fault is %v, want %v", fault, panicked)
		}
	case panicked != nil || err != nil:
		t.Errorf("the error is %v, want %v", err, panicked)
	case !slices.Equal(got, want):
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("thread %d, result %d: %#x, want %#x", i/kernels.Outputs, i%kernels.Outputs, got[i], want[i])
			}
		}
	case !slices.ContainsFunc(got, func(x int64) bool { return x != 0 }):
		t.Error("all results are 0")
	}
}

func launch(t *testing.T, c *driver.Context, m *driver.Module, name string) ([]int64, error) {
	t.Helper()
	k, err := m.Kernel(name)
	if err != nil {
		return nil, err
	}
	s, err := c.NewStream()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	in, err := driver.AllocFrom(c, inputs)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	got := make([]int64, kernels.Threads*kernels.Outputs)
	out, err := driver.AllocFrom(c, got)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	if err := k.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(kernels.Threads)}, sliceOf(in), sliceOf(out)); err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	if err := s.Wait(t.Context()); err != nil {
		return nil, err
	}
	return got, out.CopyTo(got)
}
