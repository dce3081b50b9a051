//go:build !purecuda_syscall && (amd64 || arm64)

package example

import (
	"context"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
)

// onlyLaunches runs a test on the GPU, and on an emulator whose launch functions do
// nothing. An emulated launch itself allocates memory, which the test must not count.
// With the tag purecuda_syscall, argument blocks escape to the heap.
func onlyLaunches(t *testing.T, test func(r *rig)) {
	t.Run("gpu", func(t *testing.T) {
		gputest.OnGPU(t, func(t *testing.T, c *driver.Context) { test(newRig(t, c)) })
	})
	t.Run("silent", func(t *testing.T) { test(newRig(t, gputest.Silent(t, cu.FnCuLaunchKernel))) })
}

func (r *rig) allocatesNothing(what string, f func() error) {
	r.Helper()
	if n := gputest.Allocs(0, 200, func() { noError(r.T, f()) }); n != 0 && !raceDetector {
		r.Errorf("%s allocates %v times", what, n)
	}
	noError(r.T, r.s.Wait(context.Background()))
}

func TestLaunchesDoNotAllocate(t *testing.T) {
	onlyLaunches(t, func(r *rig) {
		axpy, x, y := r.ks.Axpy, r.floats(1, 2), r.floats(0, 0)
		cfg, step := axpy.Grid(2), uint32(0)
		r.allocatesNothing("a direct launch", func() error {
			step++
			return axpy.Do(r.s, cfg, x.All(), y.View(0, 2), 0.5, step&1)
		})
		r.allocatesNothing("a launch whose grid changes", func() error {
			step++
			return axpy.Do(r.s, axpy.Grid(1+int(step&1)*1000), y.All(), x.All(), 0.5, step&1)
		})
		args := must(axpy.Prepare(cfg, x, y, 1, 2))(r.T)
		noError(r.T, args.X.Set(x.All()))
		r.allocatesNothing("a step of a prepared launch", func() error {
			step++
			_ = args.X.Set(x.View(0, int(step&1)))
			_ = args.N.Set(step & 1)
			return r.s.Do(args.Launch)
		})
	})
}

func TestLaunchesWithStructsDoNotAllocate(t *testing.T) {
	onlyLaunches(t, func(r *rig) {
		move, p, by := r.ks.MoveParticles, buffer(r, make([]Particle, 2)), r.floats(0, 0, 0)
		cfg, box := move.Grid(2), Box{High: [3]float32{1, 1, 1}}
		r.allocatesNothing("a direct launch", func() error {
			box.Steps[0]++
			return move.Do(r.s, cfg, p.All(), by.All(), box, 2)
		})
		args := must(move.Prepare(cfg, p, by, box, 2))(r.T)
		r.allocatesNothing("a step of a prepared launch", func() error {
			box.Steps[0]++
			_ = args.Box.Set(box)
			return r.s.Do(args.Launch)
		})
	})
}
