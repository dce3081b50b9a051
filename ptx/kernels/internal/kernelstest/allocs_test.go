//go:build !purecuda_syscall && (amd64 || arm64)

package kernelstest

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
)

// Launching an operation must not allocate. An emulated launch itself allocates memory,
// so without a GPU the launch function is replaced by one that does nothing. With the tag
// purecuda_syscall, argument blocks escape to the heap.
func TestSendingAnOperationAllocatesNothing(t *testing.T) {
	test := func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		op := k.made(kernels.Fill(alloc[float32](k, 100), float32(1)))
		n := gputest.Allocs(0, 100, func() { k.ok(k.s.Do(op)) })
		k.ok(k.s.Wait(t.Context()))
		if n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
	t.Run("gpu", func(t *testing.T) { gputest.OnGPU(t, test) })
	t.Run("silent", func(t *testing.T) { test(t, gputest.Silent(t, cu.FnCuLaunchKernel)) })
}

// onSilent runs a test on a GPU, and on a driver whose launch functions do nothing.
func onSilent(t *testing.T, test func(k *kit)) {
	t.Helper()
	t.Run("gpu", func(t *testing.T) {
		gputest.OnGPU(t, func(t *testing.T, c *driver.Context) { test(newKit(t, c)) })
	})
	t.Run("silent", func(t *testing.T) { test(newKit(t, gputest.Silent(t, cu.FnCuLaunchKernel))) })
}

func TestMakingAnOperationAgainAllocatesNothing(t *testing.T) {
	onSilent(t, func(k *kit) {
		for _, op := range every(k) {
			l := k.made(op.make(0))
			again, round := []*driver.Launch{l}, 0
			if n := gputest.Allocs(0, 20, func() {
				round = 1 - round
				_, err := op.make(round, again...)
				k.ok(err)
				if !l.Config().Cluster.IsZero() {
					return // the driver function for this launch is not replaced
				}
				k.ok(k.s.Do(l))
			}); n != 0 {
				k.Errorf("%s: %v allocations", op.name, n)
			}
			k.ok(k.s.Wait(t.Context()))
		}
	})
}

// Views created for a call must stay on the stack.
func TestOperandsThatAreViewsAreNotAllocated(t *testing.T) {
	onSilent(t, func(k *kit) {
		x, y, z := alloc[float32](k, 4096), alloc[float32](k, 4096), alloc[float32](k, 4096)
		index, work := alloc[int32](k, 64), workspace(k)
		var ops [7]*driver.Launch
		round := 0
		all := func() {
			round = 1 - round
			n := 1024 << round
			a, b, c := x.View(0, n), y.View(0, n), z.View(0, n)
			var errs [len(ops)]error
			ops[0], errs[0] = kernels.Fill(a, 1, ops[0])
			ops[1], errs[1] = kernels.Add(a, b, c, ops[1])
			ops[2], errs[2] = kernels.Sum(a.View(0, 1), b, work, ops[2])
			ops[3], errs[3] = kernels.Softmax(kernels.MatrixOf(a, n/32, 32), kernels.MatrixOf(b, n/32, 32), 1, ops[3])
			ops[4], errs[4] = kernels.Gather(a.View(0, 256), b, index.View(0, 64), 4, ops[4])
			ops[5], errs[5] = kernels.StridedCopy(a, kernels.Layout{Strides: []int{32, 1}}, b, kernels.Layout{Strides: []int{1, 32}}, []int{32, 32}, ops[5])
			ops[6], errs[6] = kernels.Rope(kernels.Heads[float32]{Mem: a, Tokens: n / 64, Heads: 1, Dim: 64}, kernels.Heads[float32]{Mem: b, Tokens: n / 64, Heads: 1, Dim: 64},
				index.View(0, n/64), c.View(0, 32), kernels.Halves, ops[6])
			for i, op := range ops {
				k.ok(errs[i])
				k.ok(k.s.Do(op))
			}
		}
		all() // loads the kernels of one size, and AllocsPerRun those of the other
		if n := gputest.Allocs(0, 20, all); n != 0 {
			k.Errorf("%v allocations", n)
		}
		k.ok(k.s.Wait(t.Context()))
	})
}

func TestReusedSequencesDoNotAllocate(t *testing.T) {
	each(t, func(k *kit) {
		for name, make := range sequences(k) {
			first := k.do(make(0))
			again := k.do(make(1, first...))
			if len(again) != len(first) {
				k.Errorf("%s: %d operations, want %d", name, len(again), len(first))
			}
			for i := range again {
				if again[i] != first[i] {
					k.Errorf("%s: operation %d is new", name, i)
				}
			}
			round := 0
			if n := gputest.Allocs(0, 10, func() {
				round ^= 1
				var err error
				if again, err = make(round, again...); err != nil {
					k.Fatal(err)
				}
			}); n > 0 {
				k.Errorf("%s allocates %v times", name, n)
			}
		}
	})
}
