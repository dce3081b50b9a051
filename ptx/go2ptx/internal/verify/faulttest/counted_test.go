package faulttest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

// counted maps the kernels of testdata/counted.go to descriptions of what they wait for.
var counted = map[string]string{
	"named": "barrier with a thread count", "arrives": "barrier with a thread count", "inline": "barrier with a thread count",
	"callee": "barrier with a thread count", "object": "mbarrier", "cluster": "barrier of a cluster", "grid": "barrier of the grid",
}

// If threads of a kernel would wait forever for others that failed, failed checks trap even without
// the option, and a remark says so.
func TestKernelsThatCountThreadsTrap(t *testing.T) {
	out := compiled(t, "counted", go2ptx.Config{})
	for _, k := range out.Kernels {
		if traps := k.Name != "plain" && k.Name != "unchecked"; k.Traps != traps {
			t.Errorf("kernel %s traps: %v", k.Name, k.Traps)
		}
	}
	var remarks []string
	for _, r := range out.Remarks {
		if strings.Contains(r.Text, "trap") {
			remarks = append(remarks, fmt.Sprintf("%d: %s", r.Pos.Line, r.Text))
		}
	}
	for name, what := range counted {
		want := fmt.Sprintf("%d: counted.%s: failed checks trap, because this %s would wait for the threads that ended", marked(t, "counted", "remark "+name), name, what)
		found := 0
		for _, r := range remarks {
			if r == want {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%q is not among the remarks:\n%s", want, strings.Join(remarks, "\n"))
		}
	}
	if len(remarks) != len(counted) {
		t.Errorf("%d remarks:\n%s", len(remarks), strings.Join(remarks, "\n"))
	}
}

// A failed check in such a kernel ends the launch, so that the other threads do not wait forever.
// This loses the context, so the test runs only on emulators.
func TestTrapEndsKernelsThatCountThreads(t *testing.T) {
	out := compiled(t, "counted", go2ptx.Config{Lines: true})
	for name := range counted {
		t.Run(name, func(t *testing.T) {
			emu := emulator.New(emulator.Config{})
			c := gputest.Context(t, gputest.Driver(t, emu))
			blocks := 1
			if name == "cluster" || name == "grid" {
				blocks = 2
			}
			m := must(c.LoadModule(out.PTX))(t)
			s, x, y := must(c.NewStream())(t), must(driver.Alloc[int32](c, 64*blocks-1))(t), must(driver.Alloc[int32](c, 64*blocks))(t)
			cfg := driver.LaunchConfig{Grid: driver.D1(blocks), Block: driver.D1(64), Cooperative: name == "grid"}
			ok(t, kernel(t, m, name).Launch(s, cfg, sliceOf(x), sliceOf(y)))
			if err := wait(t, s); !errors.Is(err, driver.ErrContextLost) {
				t.Errorf("the wait returned %v", err)
			}
			marker := "trap"
			if name == "callee" {
				marker = "trap of callee"
			}
			at := fmt.Sprintf("counted/counted.go:%d", marked(t, "counted", marker))
			if f := emu.Findings(); len(f) != 1 || f[0].Kind != "trap" || !sourceIs(f[0].Source, at) {
				t.Errorf("the findings are %v, not a trap at %s", f, at)
			}
			_, _, _, _ = s.Close(), x.Close(), y.Close(), m.Close() // all of these fail with the same code
		})
	}
}
