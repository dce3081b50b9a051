package kernelstest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
)

// onManyShortRows runs a test with the minimum number of rows for kernels of short rows. The emulator delays
// asynchronous copies until the kernel waits for them.
func onManyShortRows(t *testing.T, test func(k *kit, rows int)) {
	t.Helper()
	run := func(t *testing.T, c *driver.Context) {
		n, err := c.Device().Attribute(cu.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
		if err != nil {
			t.Fatal(err)
		}
		if major, _, err := c.Device().ComputeCapability(); err != nil || major < 9 {
			t.Skipf("compute capability %d has no kernels of short rows: %v", major, err)
		}
		test(newKit(t, c), 256*n)
	}
	gputest.OnEmulator(t, emulator.Config{ComputeCapability: [2]int{9, 0}, Multiprocessors: 1, Seed: 1}, run)
	t.Run("gpu", func(t *testing.T) { gputest.OnGPU(t, run) })
}

// Warps must compute short rows together, in place and apart, and whatever number of rows the last warp has. Rows that
// do not consist of packs may begin at any address.
func TestShortRowsOfAnyLength(t *testing.T) {
	onManyShortRows(t, func(k *kit, rows int) {
		shortRows[float32](k, rows, []int{1, 5, 31, 33, 63, 65, 127, 8, 16, 24, 64})
		shortRows[kernels.F16](k, rows, []int{1, 9, 31, 33, 63, 65, 100, 127, 255, 8, 16, 48, 64, 136, 256})
		shortRows[kernels.BF16](k, rows, []int{6, 63, 100, 255, 32, 56, 192})
	})
}

func shortRows[T kernels.NetFloat](k *kit, rows int, lengths []int) {
	k.Helper()
	for i, cols := range lengths {
		l := layout{rows: rows + []int{0, 1, 13, 31}[i%4], cols: cols, skip: []int{0, 1, 3}[i%3]}
		if cols%8 == 0 {
			l.skip *= 8
		}
		v := random(l.rows*l.cols, 40)
		for i := range v {
			v[i] += float64(i / l.cols % 4)
		}
		s, d := sheetOf[T](k, l, v), sheetOf[T](k, l, make([]float64, l.rows*l.cols))
		apart := k.made(kernels.Softmax(d.device, s.device, 0.75))
		k.short(apart, true)
		k.run(apart, nil)
		softmaxed(k, s, 0.75, d.read())
		for _, skip := range []int{-1, i % 4} {
			n := &normed[T]{s: s}
			if skip >= 0 {
				n.columns(k, skip)
			}
			k.short(k.made(kernels.RMSNorm(s.device, s.device, n.weight, eps)), true)
			n.rms(k)
			k.short(k.made(kernels.LayerNorm(s.device, s.device, n.weight, n.bias, eps)), true)
			n.layer(k)
			k.ok(n.weightMem.Close())
			k.ok(n.biasMem.Close())
		}
		k.run(kernels.Softmax(s.device, s.device, 0.75))
		if got, want := s.read(), d.read(); !slices.Equal(got, want) {
			k.Errorf("%T, %v: the softmax in place differs", *new(T), l)
		}
		s.close()
		d.close()
	}
}

// short checks whether an operation has a kernel of short rows.
func (k *kit) short(op *driver.Launch, want bool) {
	k.Helper()
	if got := strings.Contains(op.Kernel().Name(), "_short_"); got != want {
		k.Errorf("the kernel is %s", op.Kernel().Name())
	}
}

// Operands of a launch can be changed. Rows with gaps, and matrices with another alignment, must be correct, and
// so must a smaller grid.
func TestShortRowsWithChangedArguments(t *testing.T) {
	onManyShortRows(t, func(k *kit, rows int) {
		changedShortRows[float32](k, rows, 37)
		changedShortRows[float32](k, rows, 64)
		for _, cols := range []int{37, 64, 255, 256} { // rows of packs, and rows with several lanes
			changedShortRows[kernels.F16](k, rows, cols)
		}
	})
}

func changedShortRows[T kernels.NetFloat](k *kit, rows, cols int) {
	k.Helper()
	l := layout{rows: rows, cols: cols}
	s, d := sheetOf[T](k, l, random(rows*cols, 42)), sheetOf[T](k, l, make([]float64, rows*cols))
	op := k.made(kernels.Softmax(d.device, s.device, 0.5))
	k.short(op, true)
	cfg := op.Config()
	cfg.Grid = driver.D1(1)
	k.ok(op.SetConfig(cfg))
	for _, c := range []struct{ from, to layout }{
		{l, l},
		{layout{rows, cols, 1, 0}, layout{rows, cols, 1, 0}},
		{layout{rows, cols, 1, 0}, layout{rows, cols, 3, 0}},
		{layout{rows - 45, cols, 1, 0}, layout{rows - 45, cols, 0, 3}},
		{layout{rows - 45, 32, 0, 5}, layout{rows - 45, 32, 0, 0}},
		{layout{rows - 45, 31, 5, 3}, layout{rows - 45, 31, 1, 2}},
		{layout{rows, 28, 0, 0}, layout{rows, 28, 0, 0}}, // an odd number of packs
		{layout{3, 2, 1, 0}, layout{3, 2, 1, 0}},
	} {
		from, to := sheetOf[T](k, c.from, random(c.from.rows*c.from.cols, 43)), sheetOf[T](k, c.to, make([]float64, c.to.rows*c.to.cols))
		k.ok(driver.SetArg(op, 0, to.device.Mem.All()))
		k.ok(driver.SetArg(op, 1, from.device.Mem.All()))
		for i, n := range []int{c.from.rows, c.from.cols, to.device.Pitch, from.device.Pitch} {
			k.ok(driver.SetArg(op, 2+i, uint64(n)))
		}
		k.run(op, nil)
		softmaxed(k, from, 0.5, to.read())
		from.close()
		to.close()
	}
	// The shared memory of the launch has no room for longer rows.
	k.ok(driver.SetArg(op, 0, d.device.Mem.All()))
	k.ok(driver.SetArg(op, 1, s.device.Mem.All()))
	k.ok(driver.SetArg(op, 3, uint64(2*cols)))
	k.ok(k.s.Do(op))
	var fault *driver.KernelFault
	if err := k.s.Wait(context.Background()); !errors.As(err, &fault) || !strings.Contains(err.Error(), "longer than those") {
		k.Errorf("rows of twice the length: %v", err)
	}
	s.close()
	d.close()
}

func TestWhichRowsAreShort(t *testing.T) {
	onManyShortRows(t, func(k *kit, rows int) {
		half := alloc[kernels.F16](k, (rows+1)*264)
		for _, c := range []struct {
			rows, cols, skip int
			short            bool
		}{{rows, 64, 0, true}, {rows, 64, 8, true}, {rows, 64, 1, false}, {rows, 256, 0, true}, {rows, 264, 0, false}, {rows - 1, 64, 0, false}} {
			m := kernels.Matrix[kernels.F16]{Mem: half.View(c.skip, half.Len()), Rows: c.rows, Cols: c.cols, Pitch: c.cols}
			k.short(k.made(kernels.Softmax(m, m, 1)), c.short)
		}
		mem, other := alloc[float32](k, (rows+1)*130), alloc[float32](k, (rows+1)*130)
		for _, c := range []struct {
			rows, cols, pitch, skip, skipOther int
			short                              bool
		}{
			{rows, 63, 63, 0, 0, true},
			{rows, 63, 63, 5, 1, true},
			{rows, 63, 63, 5, 2, false}, // another alignment
			{rows - 1, 63, 63, 0, 0, false},
			{rows, 64, 64, 0, 0, true},
			{rows, 64, 64, 1, 1, false},
			{rows, 60, 60, 0, 0, false},
			{rows, 72, 72, 0, 0, false},
			{rows, 63, 64, 0, 0, false},
			{rows, 127, 127, 0, 0, true},
			{rows, 129, 129, 0, 0, false},
		} {
			dst := kernels.Matrix[float32]{Mem: mem.View(c.skip, mem.Len()), Rows: c.rows, Cols: c.cols, Pitch: c.pitch}
			src := kernels.Matrix[float32]{Mem: other.View(c.skipOther, other.Len()), Rows: c.rows, Cols: c.cols, Pitch: c.pitch}
			k.short(k.made(kernels.Softmax(dst, src, 1)), c.short)
			k.short(k.made(kernels.RMSNorm(dst, src, nil, 1)), c.short)
			k.short(k.made(kernels.LayerNorm(dst, src, nil, nil, 1)), c.short)
		}
	})
}

// Adding up a row must lose little even if the sample is far from the mean, as in row 26 here. The sums of whole rows
// instead of packs would lose too much.
func TestSumsOfShortRowsLoseLittle(t *testing.T) {
	onManyShortRows(t, func(k *kit, rows int) {
		l := layout{rows: 256, cols: 100}
		const first = 20384
		v := random((first+l.rows)*l.cols, 40)[first*l.cols:]
		for i := range v {
			v[i] += float64(i / l.cols % 4)
		}
		for len(v) < rows*l.cols { // a GPU has more processors
			v = append(v, v[:l.rows*l.cols]...)
		}
		l.rows = rows
		s := sheetOf[kernels.F16](k, l, v)
		defer s.close()
		n := &normed[kernels.F16]{s: s}
		n.columns(k, 2)
		n.layer(k)
		k.ok(n.weightMem.Close())
		k.ok(n.biasMem.Close())
	})
}
