package driver_test

import (
	"os"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx"
)

func optimised(t *testing.T) ([]byte, *ptx.Inspection) {
	t.Helper()
	text, err := os.ReadFile("emulator/internal/vm/testdata/cuda/optimised.ptx")
	noError(t, err)
	tree, err := ptx.Parse("optimised.ptx", text)
	noError(t, err)
	report := ptx.Inspect(tree)
	if len(report.Kernels) < 10 {
		t.Fatalf("%d kernels are too few", len(report.Kernels))
	}
	return text, report
}

// What the text says about shared memory is what the compiler makes of it, but
// for what aligning adds.
func TestSharedMemoryInTheTextIsWhatTheDriverSays(t *testing.T) {
	text, report := optimised(t)
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := must(c.LoadModule(text))(t)
		for _, k := range report.Kernels {
			info := must(must(m.Kernel(k.Name))(t).Info())(t)
			if int64(info.SharedStatic) < k.Shared || int64(info.SharedStatic) > k.Shared+16 {
				t.Errorf("%s: %d bytes shared, the text says %d", k.Name, info.SharedStatic, k.Shared)
			}
		}
		noError(t, m.Close())
	})
}

// Of local memory the compiler takes what the text declares, or less where it
// has room in registers. (The emulator keeps arguments of calls there too.)
func TestLocalMemoryInTheTextIsEnoughForTheDriver(t *testing.T) {
	text, report := optimised(t)
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		m := must(c.LoadModule(text))(t)
		for _, k := range report.Kernels {
			info := must(must(m.Kernel(k.Name))(t).Info())(t)
			if k.Stack >= 0 && int64(info.Local) > k.Stack+16 {
				t.Errorf("%s: %d bytes local, the text says %d", k.Name, info.Local, k.Stack)
			}
		}
		noError(t, m.Close())
	})
}
