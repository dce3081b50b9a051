package cases

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/purecuda/cuda/bench/kernels"
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

// CUDA is an environment variable that names a file with the PTX or cubin of cuda/all.cu, compiled
// by nvcc or NVRTC. If it is set, the tests also run the counterparts.
const CUDA = "PURECUDA_BENCH_CUDA"

func open(t *testing.T) *driver.Context {
	t.Helper()
	d, err := driver.New(emulator.New(emulator.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	dev, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func load(t *testing.T, c *driver.Context, image []byte) *driver.Module {
	t.Helper()
	m, err := c.LoadModule(image)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func compile(t *testing.T) *go2ptx.Output {
	t.Helper()
	out, err := kernels.Compile(go2ptx.Config{Lines: true})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return out
}

// launch runs a kernel and waits for it.
func launch(t *testing.T, c *driver.Context, m *driver.Module, name string, w *Work, args []any) error {
	t.Helper()
	k, err := m.Kernel(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := k.Launch(s, driver.LaunchConfig{Grid: w.Grid, Block: w.Block, SharedMem: uint32(w.Shared)}, args...); err != nil {
		t.Fatal(err)
	}
	return s.Wait(context.Background())
}

// The kernels in Go and their counterparts must compute the same results as plain Go on the host.
func TestResults(t *testing.T) {
	c := open(t)
	modules := map[string]*driver.Module{"Go": load(t, c, compile(t).PTX)}
	if name := os.Getenv(CUDA); name != "" {
		image, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		modules["CUDA"] = load(t, c, image)
	}
	for _, k := range Cases {
		if k.New == nil {
			continue
		}
		for _, n := range k.Small {
			for of, module := range modules {
				t.Run(fmt.Sprintf("%s/%d/%s", k.Name, n, of), func(t *testing.T) {
					m := NewMemory(c, -1)
					defer m.Close()
					w := k.New(m, n)
					if m.Err() != nil {
						t.Fatal(m.Err())
					}
					args := w.Args
					if of == "CUDA" {
						args = w.CUDA
					}
					if err := launch(t, c, module, k.Name, w, args); err != nil {
						t.Fatal(err)
					}
					got, err := m.Outputs()
					if err != nil {
						t.Fatal(err)
					}
					if d := Difference(got, w.Want(), w.Tolerance); d != "" {
						t.Error(d)
					}
				})
			}
		}
	}
}

// If a slice lacks its last element, the kernel must either fault at a line of Go code or not
// access the element. The emulator checks the size of each allocation, so it would report an access
// that is not checked.
func TestShortenedSlices(t *testing.T) {
	c := open(t)
	module := load(t, c, compile(t).PTX)
	line := regexp.MustCompile(`^\w+\.go$`)
	for _, k := range Cases {
		if k.New == nil {
			continue
		}
		for _, n := range k.Small {
			whole := NewMemory(c, -1)
			k.New(whole, n)
			if err := errors.Join(whole.Err(), whole.Close()); err != nil {
				t.Fatal(err)
			}
			for i := range whole.Slices() {
				t.Run(fmt.Sprintf("%s/%d/slice %d", k.Name, n, i), func(t *testing.T) {
					m := NewMemory(c, i)
					defer m.Close()
					w := k.New(m, n)
					if m.Err() != nil {
						t.Fatal(m.Err())
					}
					err := launch(t, c, module, k.Name, w, w.Args)
					var fault *driver.KernelFault
					switch {
					case errors.As(err, &fault):
						if file := fault.File[strings.LastIndexByte(fault.File, '/')+1:]; !line.MatchString(file) || fault.Line == 0 {
							t.Errorf("the fault is in %s:%d", fault.File, fault.Line)
						}
					case err != nil:
						t.Error(err)
					}
				})
			}
		}
	}
}

// The list must have 40 kernels, of which at least 15 are limited by arithmetic or latency.
func TestList(t *testing.T) {
	names, others := map[string]bool{}, 0
	for _, k := range Cases {
		if names[k.Name] {
			t.Errorf("%s appears twice", k.Name)
		}
		names[k.Name] = true
		if k.Bound != ByMemory {
			others++
		}
	}
	if len(names) != 40 || others < 15 {
		t.Errorf("%d kernels, %d of them not bound by memory", len(names), others)
	}
}
