package launches_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/checks/launches"
	"github.com/purecuda/cuda/internal/checks/launches/signatures"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx"
)

type rig struct {
	testing.TB
	c *driver.Context
	s *driver.Stream
	a *launches.Args
}

func newRig(t testing.TB, c *driver.Context) *rig {
	t.Helper()
	r := &rig{TB: t, c: c}
	var err error
	r.a, err = launches.NewArgs(c)
	r.ok(err)
	r.closeLater(r.a)
	r.s, err = c.NewStream()
	r.ok(err)
	r.closeLater(r.s)
	return r
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) closeLater(c interface{ Close() error }) {
	r.Cleanup(func() { r.ok(c.Close()) })
}

func (r *rig) wait() {
	r.Helper()
	r.ok(r.s.Wait(r.Context()))
}

func (r *rig) each(f func(l launches.Launch, k *driver.Kernel, do launches.Do)) {
	r.Helper()
	for _, l := range launches.All() {
		k, _, do, err := l.In(r.c, r.a)
		r.ok(err)
		f(l, k, do)
	}
}

func TestEveryKernelHasALaunch(t *testing.T) {
	var want []string
	files, err := signatures.Texts.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := signatures.Texts.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		m, err := ptx.Parse(f.Name(), text)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range m.Kernels() {
			want = append(want, f.Name()+" "+k.Name)
		}
	}
	all := launches.All()
	if len(all) != len(want) || len(want) == 0 {
		t.Fatalf("%d launches of %d kernels: run go generate", len(all), len(want))
	}
	for i, l := range all {
		if got := l.Text + " " + l.Kernel; got != want[i] {
			t.Errorf("launch %d is of %s, want %s", i, got, want[i])
		}
	}
}

// A kernel launched with nothing to do must not access memory.
func TestEveryLauncherLaunches(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		r := newRig(t, c)
		r.each(func(l launches.Launch, k *driver.Kernel, do launches.Do) {
			if k.Name() != l.Kernel {
				t.Errorf("the launcher of %s launches %v", l.Kernel, k)
			}
			r.ok(do(r.s))
		})
		r.wait()
	})
}
