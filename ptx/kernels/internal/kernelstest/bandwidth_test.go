package kernelstest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/clock"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/num"
)

// bar is the minimum bandwidth of operations that only move memory, as a fraction of the
// bandwidth of a device-to-device copy.
const bar = 0.85

// barOfStrided is the minimum for strided copies. barOfOdd is that of rows of odd lengths, as a
// fraction of the bandwidth with the even length that is nearest.
const (
	barOfStrided = 0.60
	barOfOdd     = 0.90
)

// enough is a number of bytes that keeps the device busy.
const enough = 1 << 30

// pause is how long the device rests before each measurement. At full load, an H200 reaches its power limit after some
// measurements, and lowers its clock rate. A result would depend on the operations before it. The table has the clock
// rates after the measurements.
const pause = 100 * time.Millisecond

// measured is one line of the table: an operation, the bytes it moves, and whether the
// bar applies.
type measured struct {
	name   string
	op     driver.Op
	bytes  int
	judged bool
}

// Operations that only move memory must reach the bar. Times are meaningful only on an
// otherwise idle GPU, so the test requires PURECUDA_BENCH=1.
func TestBandwidthOfElementwiseOperations(t *testing.T) {
	if os.Getenv("PURECUDA_BENCH") != "1" {
		t.Skip("PURECUDA_BENCH is not 1")
	}
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		k.meter()
		copied, rate := k.bandwidth(k.copyOfDevice())
		t.Logf("%-32s %8.0f GB/s           %4.0f MHz", "copy of 1 GiB", copied, rate)
		for _, m := range k.operations() {
			b, rate := k.bandwidth(m)
			t.Logf("%-32s %8.0f GB/s  %5.1f %%  %4.0f MHz", m.name, b, 100*b/copied, rate)
			want := bar
			if strings.HasPrefix(m.name, "strided copy") {
				want = barOfStrided
			}
			if m.judged && b < want*copied {
				t.Errorf("%s: %.1f %% of the bandwidth of a copy, want %.0f %%", m.name, 100*b/copied, 100*want)
			}
		}
	})
}

func (k *kit) copyOfDevice() measured {
	op, err := driver.CopyDevice(alloc[uint8](k, enough), alloc[uint8](k, enough))
	k.ok(err)
	return measured{"copy", op, 2 * enough, false}
}

func (k *kit) operations() []measured {
	const n = enough / 4
	a, b := alloc[float32](k, n), alloc[float32](k, n)
	half, err := driver.ViewAs[kernels.F16](b.View(0, n/2))
	k.ok(err)
	bf, err := driver.ViewAs[kernels.BF16](b.View(0, n/2))
	k.ok(err)
	wide, err := driver.ViewAs[float64](b)
	k.ok(err)
	ints, err := driver.ViewAs[int32](b)
	k.ok(err)
	bytes, err := driver.ViewAs[uint8](b.View(0, n/4))
	k.ok(err)
	odd := func(m driver.View[float32], from int) driver.View[float32] { return m.View(from, from+n-4) }
	index := alloc[int32](k, 1<<18)
	k.run(kernels.Iota(index, 1<<18-1, -1))
	k.run(kernels.Iota(a, -8, 1e-7))
	k.run(kernels.Fill(b, 0))
	row := kernels.RowMajor
	const side = 1 << 14
	return []measured{
		{"fill f32", k.made(kernels.Fill(a, 1)), enough, true},
		{"fill u8", k.made(kernels.Fill(bytes, 1)), enough / 4, false},
		{"fill f64", k.made(kernels.Fill(wide, 1)), enough, true},
		{"iota f32", k.made(kernels.Iota(a, 0, 1e-8)), enough, false},
		{"cast f32 to f16", k.made(kernels.Cast(half, a)), enough * 3 / 2, true},
		{"cast f32 to bf16", k.made(kernels.Cast(bf, a)), enough * 3 / 2, true},
		{"cast f16 to f32", k.made(kernels.Cast(a, half)), enough * 3 / 2, true},
		{"cast bf16 to f32", k.made(kernels.Cast(a, bf)), enough * 3 / 2, true},
		{"cast f32 to i32", k.made(kernels.Cast(ints, a)), 2 * enough, true},
		{"cast f64 to f32", k.made(kernels.Cast(a.View(0, n/2), wide)), enough * 3 / 2, true},
		{"cast f32 to f64", k.made(kernels.Cast(wide, a.View(0, n/2))), enough * 3 / 2, true},
		{"cast u8 to f32", k.made(kernels.Cast(a, bytes)), enough * 5 / 4, true},
		{"cast f32 to u8", k.made(kernels.Cast(bytes, a)), enough * 5 / 4, true},
		{"axpy f32", k.made(kernels.Axpy(b, 0.5, a)), 3 * enough, true},
		{"axpy f32, odd places", k.made(kernels.Axpy(odd(b.All(), 1), 0.5, odd(a.All(), 2))), 3 * enough, false},
		{"axpy f16", k.made(kernels.Axpy(half.View(0, n/2), num.ToF16(0.5), half.View(n/2, n))), enough * 3 / 4, true},
		{"axpy bf16", k.made(kernels.Axpy(bf.View(0, n/2), num.ToBF16(0.5), bf.View(n/2, n))), enough * 3 / 4, true},
		{"axpy f64", k.made(kernels.Axpy(wide.View(0, n/4), 0.5, wide.View(n/4, n/2))), 3 * enough / 2, true},
		{"add f32", k.made(kernels.Add(b, a, b)), 3 * enough, false},
		{"add f32, a row repeated", k.made(kernels.Add(b, b, a.View(0, 4096))), 2 * enough, false},
		{"mul by a number f16", k.made(kernels.MulScalar(half, half, num.ToF16(0.5))), enough, false},
		{"relu f32", k.made(kernels.ReLU(b, a)), 2 * enough, false},
		{"gelu f32", k.made(kernels.GELU(b, a)), 2 * enough, false},
		{"gelu tanh f32", k.made(kernels.GELUTanh(b, a)), 2 * enough, false},
		{"silu f32", k.made(kernels.SiLU(b, a)), 2 * enough, false},
		{"silu bf16", k.made(kernels.SiLU(bf, bf)), enough, false},
		{"exp f32", k.made(kernels.Exp(b, a)), 2 * enough, false},
		{"tanh f32", k.made(kernels.Tanh(b, a)), 2 * enough, false},
		{"log f32", k.made(kernels.Log(b, a)), 2 * enough, false},
		{"gelu bf16", k.made(kernels.GELU(bf, bf)), enough, false},
		{"gather rows of 1024 f32", k.made(kernels.Gather(b, a, index, 1024)), 2 * enough, false},
		{"gather rows of 4 f32", k.made(kernels.Gather(b.View(0, 1<<20), a, index, 4)), 1 << 23, false},
		{"transpose f32", k.made(kernels.Transpose(b, a, 1, side, side)), 2 * enough, false},
		{"transpose f16", k.made(kernels.Transpose(half.View(0, n/2), half.View(n/2, n), 2, side/2, side/2)), enough / 2, false},
		{"strided copy, rows", k.made(kernels.StridedCopy(b, row(side, side/2), a, kernels.Layout{Strides: []int{side, 1}}, []int{side, side / 2})), enough, true},
		{"strided copy, transposed", k.made(kernels.StridedCopy(b, row(side, side), a, row(side, side).Permute(1, 0), []int{side, side})), 2 * enough, true},
		{"strided copy, 4 dimensions", k.made(kernels.StridedCopy(b, row(64, 16, 256, 1024), a, row(64, 256, 16, 1024).Permute(0, 2, 1, 3), []int{64, 16, 256, 1024})), 2 * enough, true},
	}
}

// bandwidth returns the bandwidth of an operation in GB/s, and the clock rate of the multiprocessors after it in MHz.
func (k *kit) bandwidth(m measured) (speed, rate float64) {
	k.Helper()
	time.Sleep(pause)
	const runs, each = 7, 4
	var times []time.Duration
	for range runs {
		times = append(times, k.time(m.op, each))
	}
	rate, err := k.clock.MHz()
	k.ok(err)
	return float64(m.bytes) * each / float64(middle(times).Nanoseconds()), rate
}

// meter is called once for the kit of a benchmark.
func (k *kit) meter() {
	m, err := clock.New(k.c)
	k.ok(err)
	k.Cleanup(func() {
		if err := m.Close(); err != nil {
			k.Error(err)
		}
	})
	k.clock = m
}

func (k *kit) time(op driver.Op, times int) time.Duration {
	k.Helper()
	start, end := k.event(), k.event()
	k.ok(k.s.Do(op))
	k.ok(k.s.Record(start))
	for range times {
		k.ok(k.s.Do(op))
	}
	k.ok(k.s.Record(end))
	k.ok(k.s.Wait(context.Background()))
	d, err := end.Elapsed(start)
	k.ok(err)
	k.ok(start.Close())
	k.ok(end.Close())
	return d
}

func (k *kit) event() *driver.Event {
	k.Helper()
	e, err := k.c.NewEvent(driver.WithTiming())
	k.ok(err)
	return e
}

func middle(d []time.Duration) time.Duration {
	for i := range d {
		for j := i; j > 0 && d[j] < d[j-1]; j-- {
			d[j], d[j-1] = d[j-1], d[j]
		}
	}
	return d[len(d)/2]
}

// Operations on rows must reach the bar, under the same conditions as
// TestBandwidthOfElementwiseOperations.
func TestBandwidthOfOperationsOnRows(t *testing.T) {
	if os.Getenv("PURECUDA_BENCH") != "1" {
		t.Skip("PURECUDA_BENCH is not 1")
	}
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		k.meter()
		a, b := alloc[uint8](k, enough+16), alloc[uint8](k, enough)
		k.varied(a)
		k.ok(b.Fill(0))
		op, err := driver.CopyDevice(b, a.View(0, enough))
		k.ok(err)
		copied, rate := k.bandwidth(measured{"copy", op, 2 * enough, false})
		t.Logf("%-32s %8.0f GB/s           %4.0f MHz", "copy of 1 GiB", copied, rate)
		w := workspace(k)
		var list []measured
		list = append(list, rowsOf[float32](k, "f32", a, b, w)...)
		list = append(list, rowsOf[kernels.F16](k, "f16", a, b, w)...)
		list = append(list, rowsOf[kernels.BF16](k, "bf16", a, b, w)...)
		list = append(list, sumsInto(k, a, w)...)
		list = append(list, vectors[float32, float32](k, "f32, f32", a, b)...)
		list = append(list, vectors[kernels.F16, kernels.F16](k, "f16, f16", a, b)...)
		list = append(list, vectors[kernels.F16, float32](k, "f16, f32", a, b)...)
		list = append(list, vectors[kernels.BF16, kernels.BF16](k, "bf16, bf16", a, b)...)
		list = append(list, vectors[kernels.BF16, float32](k, "bf16, f32", a, b)...)
		speeds := make(map[string]float64)
		for _, m := range list {
			speed, rate := k.bandwidth(m)
			speeds[m.name] = speed
			t.Logf("%-32s %8.0f GB/s  %5.1f %%  %4.0f MHz", m.name, speed, 100*speed/copied, rate)
			if m.judged && speed < bar*copied {
				t.Errorf("%s: %.1f %% of the bandwidth of a copy, want %.0f %%", m.name, 100*speed/copied, 100*bar)
			}
		}
		for name, speed := range speeds {
			for odd, even := range oddRows {
				if even := speeds[strings.Replace(name, odd, even, 1)]; strings.Contains(name, odd) && speed < barOfOdd*even {
					t.Errorf("%s: %.1f %% of the bandwidth of rows %s, want %.0f %%", name, 100*speed/even, strings.TrimSpace(oddRows[odd]), 100*barOfOdd)
				}
			}
		}
	})
}

// oddRows maps parts of names: rows of odd lengths, and the rows with which they are compared.
var oddRows = map[string]string{
	" of 63 ": " of 64 ", " of 255 ": " of 256 ", " of 1003 ": " of 1024 ", " of 4095 ": " of 4096 ",
	" of 8191 ": " of 8192 ", " of 20001 ": " of 16384 ", " of 32767 ": " of 32768 ", " of 131071 ": " of 131072 ",
}

// varied fills memory with bits that represent moderate numbers of both signs in every float type.
// With constant data, the device would consume less power and run faster.
func (k *kit) varied(m driver.MemoryOf[uint8]) {
	k.Helper()
	const part = 1 << 26
	words := make([]uint64, part/8)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range words {
		words[i] = r.Uint64()&0x807f807f807f807f | 0x3f803f803f803f80
	}
	k.ok(m.All().Fill(0x3c))
	all, err := driver.ViewAs[uint64](m.All().View(0, enough))
	k.ok(err)
	for at := 0; at < all.Len(); at += len(words) {
		k.ok(all.View(at, at+len(words)).CopyFrom(words))
	}
}

// seen returns a view of the memory as elements of type T. The view starts at byte skip. Its size in
// bytes is the constant enough.
func seen[T kernels.Element](k *kit, m driver.MemoryOf[uint8], skip int) driver.View[T] {
	k.Helper()
	v, err := driver.ViewAs[T](m.All().View(skip, skip+enough))
	k.ok(err)
	return v
}

func rowsOf[T kernels.NetFloat](k *kit, name string, a, b driver.MemoryOf[uint8], w *kernels.Workspace) []measured {
	k.Helper()
	src, dst := seen[T](k, a, 0), seen[T](k, b, 0)
	n := src.Len()
	sum, one, place := alloc[float32](k, n/32), alloc[T](k, 1), alloc[int64](k, n/32)
	list := []measured{
		{"sum " + name, k.made(kernels.Sum(sum.View(0, 1), src, w)), enough, true},
		{"max " + name, k.made(kernels.Max(one, src, w)), enough, true},
		{"min " + name, k.made(kernels.Min(one, src, w)), enough, true},
		{"argmax " + name, k.made(kernels.Argmax(place.View(0, 1), src, w)), enough, true},
	}
	for _, cols := range []int{32, 64, 256, 1024, 4096, 8192, 16384, 1 << 15, 1 << 16, 1 << 17} {
		rows, size := n/cols, fmt.Sprintf(" of %d %s", cols, name)
		from, to := kernels.MatrixOf(src, rows, cols), kernels.MatrixOf(dst, rows, cols)
		weight, judged := src.View(0, cols), cols >= 64 // no bar for short rows
		list = append(list,
			measured{"sums" + size, k.made(kernels.SumRows(sum.View(0, rows), from, w)), enough, judged},
			measured{"argmax" + size, k.made(kernels.ArgmaxRows(place.View(0, rows), from, w)), enough, judged},
			measured{"softmax" + size, k.made(kernels.Softmax(to, from, 1)), 2 * enough, judged},
			measured{"RMS norm" + size, k.made(kernels.RMSNorm(to, from, weight, eps)), 2 * enough, judged},
			measured{"layer norm" + size, k.made(kernels.LayerNorm(to, from, weight, weight, eps)), 2 * enough, judged},
		)
	}
	for _, cols := range []int{63, 255, 1003, 4095, 8191, 20001, 32767, 90000, 131071, 1 << 20} { // rows of odd lengths, rows whose share per block is odd, and rows too long to keep
		rows, size := n/cols, fmt.Sprintf(" of %d %s", cols, name)
		from := kernels.MatrixOf(src.View(0, rows*cols), rows, cols)
		to := kernels.MatrixOf(dst.View(0, rows*cols), rows, cols)
		list = append(list,
			measured{"sums" + size, k.made(kernels.SumRows(sum.View(0, rows), from, w)), enough, false},
			measured{"softmax" + size, k.made(kernels.Softmax(to, from, 1)), 2 * enough, false},
			measured{"RMS norm" + size, k.made(kernels.RMSNorm(to, from, nil, eps)), 2 * enough, false},
			measured{"layer norm" + size, k.made(kernels.LayerNorm(to, from, nil, nil, eps)), 2 * enough, false},
		)
	}
	return list
}

func sumsInto(k *kit, a driver.MemoryOf[uint8], w *kernels.Workspace) []measured {
	k.Helper()
	f, i, u := alloc[float64](k, 1), alloc[int64](k, 1), alloc[uint64](k, 1)
	odd := seen[float32](k, a, 4)
	return []measured{
		{"sum f32 in f64", k.made(kernels.Sum(f, seen[float32](k, a, 0), w)), enough, true},
		{"sum f32 in f64, odd place", k.made(kernels.Sum(f, odd, w)), enough, false},
		{"sum f64", k.made(kernels.Sum(f, seen[float64](k, a, 0), w)), enough, true},
		{"sum i32 in i64", k.made(kernels.Sum(i, seen[int32](k, a, 0), w)), enough, true},
		{"sum u64", k.made(kernels.Sum(u, seen[uint64](k, a, 0), w)), enough, true},
		{"max f64", k.made(kernels.Max(f, seen[float64](k, a, 0), w)), enough, true},
		{"argmax i64", k.made(kernels.Argmax(i, seen[int64](k, a, 0), w)), enough, true},
		{"sum f32, no workspace", k.made(kernels.Sum(f, odd.View(0, 1<<20), nil)), 1 << 22, false},
	}
}

func vectors[A, X kernels.NetFloat](k *kit, name string, a, b driver.MemoryOf[uint8]) []measured {
	k.Helper()
	m, x := seen[A](k, a, 0), alloc[X](k, 1<<20)
	k.ok(x.Fill(*new(X)))
	y := seen[X](k, b, 0)
	var list []measured
	for _, cols := range []int{1024, 4096, 16384, 1 << 20} {
		rows := m.Len() / cols
		op := k.made(kernels.Gemv(y.View(0, rows), kernels.MatrixOf(m, rows, cols), x.View(0, cols)))
		list = append(list, measured{fmt.Sprintf("GEMV %d × %d %s", rows, cols, name), op, enough, cols == 4096 || cols == 16384})
	}
	return list
}
