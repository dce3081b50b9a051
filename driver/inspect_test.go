package driver_test

import (
	"os"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx"
)

// What the text says about memory is what the driver's compiler makes of it,
// but for what it adds by aligning variables more than they ask for, and for
// local variables that it keeps in registers.
func TestInspectionAgreesWithTheDriver(t *testing.T) {
	text, err := os.ReadFile("emulator/internal/vm/testdata/cuda/optimised.ptx")
	noError(t, err)
	tree, err := ptx.Parse("optimised.ptx", text)
	noError(t, err)
	report := ptx.Inspect(tree)
	if len(report.Kernels) < 10 {
		t.Fatalf("%d kernels are too few", len(report.Kernels))
	}
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := must(c.LoadModule(text))(t)
		for i := range report.Kernels {
			k := &report.Kernels[i]
			info := must(must(m.Kernel(k.Name))(t).Info())(t)
			if int64(info.SharedStatic) < k.Shared || int64(info.SharedStatic) > k.Shared+16 {
				t.Errorf("%s: %d bytes shared, the text says %d", k.Name, info.SharedStatic, k.Shared)
			}
			if k.Stack >= 0 && int64(info.Local) > k.Stack+16 {
				t.Errorf("%s: %d bytes local, the text says %d", k.Name, info.Local, k.Stack)
			}
		}
		noError(t, m.Close())
	})
}
