package kernelstest

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/dataflow"
	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/num"
)

// workspace returns a workspace that the test closes when it ends.
func workspace(k *kit) *kernels.Workspace {
	k.Helper()
	w, err := kernels.NewWorkspace(k.c)
	k.ok(err)
	k.closeLater(w)
	return w
}

func TestSumsOfRows(t *testing.T) {
	each(t, func(k *kit) {
		w := workspace(k)
		sums[float32, float32](k, w, 0x1p-24)
		sums[float32, kernels.F16](k, w, 0x1p-24)
		sums[float32, kernels.BF16](k, w, 0x1p-24)
		sums[float64, float64](k, w, 0x1p-53)
		sums[float64, float32](k, w, 0x1p-53)
		sums[int64, int32](k, w, 0)
		sums[int64, int64](k, w, 0)
		sums[uint64, uint32](k, w, 0)
		sums[uint64, uint64](k, w, 0)
	})
}

func sums[S kernels.Accumulator, T kernels.Element](k *kit, w *kernels.Workspace, unit float64) {
	k.Helper()
	for _, l := range k.layouts() {
		s := sheetOf[T](k, l, numbers[T](l.rows*l.cols, 1))
		for _, w := range []*kernels.Workspace{nil, w} {
			dst := alloc[S](k, l.rows)
			k.run(kernels.SumRows(dst, s.device, w))
			for r, got := range host(k, dst) {
				want, size := 0.0, 0.0
				for _, v := range s.row(r) {
					want += v
					size += math.Abs(v)
				}
				off := (float64(l.cols)/1024 + 30) * unit * size
				if !near[S](number(got), want, off) {
					k.far(number(got), want, off, "sum of %T in %T, %v, row %d", *new(T), got, l, r)
					break
				}
			}
			k.ok(dst.Close())
		}
		s.close()
	}
}

// numbers returns random numbers that T can represent. They are small enough that a
// float64 holds sums of integers exactly.
func numbers[T kernels.Element](n int, seed uint64) []float64 {
	v := random(n, seed)
	for i := range v {
		var t T
		switch any(t).(type) {
		case int32, int64:
			v[i] = math.Round(v[i] * 1000)
		case uint32, uint64:
			v[i] = math.Round(math.Abs(v[i]) * 1000)
		}
	}
	return v
}

type extreme[R, T kernels.Element] func(dst driver.MemoryOf[R], src kernels.Matrix[T], w *kernels.Workspace, again ...*driver.Launch) (*driver.Launch, error)

func TestExtremesOfRows(t *testing.T) {
	each(t, func(k *kit) {
		w := workspace(k)
		extremes[float32](k, w)
		extremes[kernels.F16](k, w)
		extremes[kernels.BF16](k, w)
		extremes[float64](k, w)
		extremes[int32](k, w)
		extremes[int64](k, w)
	})
}

func extremes[T kernels.Ordered](k *kit, w *kernels.Workspace) {
	k.Helper()
	for _, l := range k.layouts() {
		s := sheetOf[T](k, l, numbers[T](l.rows*l.cols, 2))
		for _, w := range []*kernels.Workspace{nil, w} {
			picks(k, w, s, "max", kernels.MaxRows[T], func(row []float64) float64 { i := argmax(row); return value(row, i, least[T]()) })
			picks(k, w, s, "min", kernels.MinRows[T], func(row []float64) float64 { i := argmin(row); return value(row, i, most[T]()) })
			picks(k, w, s, "argmax", kernels.ArgmaxRows[T], func(row []float64) float64 { return float64(argmax(row)) })
		}
		s.close()
	}
}

func picks[R, T kernels.Element](k *kit, w *kernels.Workspace, s *sheet[T], name string, f extreme[R, T], want func(row []float64) float64) {
	k.Helper()
	dst := alloc[R](k, s.rows)
	k.run(f(dst, s.device, w))
	for r, got := range host(k, dst) {
		if g, w := number(got), want(s.row(r)); g != w && (g == g || w == w) {
			k.Errorf("%s of %T, %v, row %d: %v, want %v", name, *new(T), s.layout, r, g, w)
			break
		}
	}
	k.ok(dst.Close())
}

// argmax returns the index of the first NaN. Without NaN it returns the index of the
// first largest element, or -1 for an empty row.
func argmax(row []float64) int {
	best := -1
	for i, v := range row {
		if v != v {
			return i
		}
		if best < 0 || v > row[best] {
			best = i
		}
	}
	return best
}

func argmin(row []float64) int {
	best := -1
	for i, v := range row {
		if v != v {
			return i
		}
		if best < 0 || v < row[best] {
			best = i
		}
	}
	return best
}

func value(row []float64, i int, none float64) float64 {
	if i < 0 {
		return none
	}
	return row[i]
}

func least[T kernels.Ordered]() float64 {
	var v T
	switch any(v).(type) {
	case int32:
		return math.MinInt32
	case int64:
		return math.MinInt64
	}
	return math.Inf(-1)
}

func most[T kernels.Ordered]() float64 {
	var v T
	switch any(v).(type) {
	case int32:
		return math.MaxInt32
	case int64:
		return math.MaxInt64
	}
	return math.Inf(1)
}

// Results must be correct for rows with many ties, and with NaN and infinities at any
// position.
func TestExtremesOfTiesAndSpecialNumbers(t *testing.T) {
	each(t, func(k *kit) {
		w := workspace(k)
		specials[float32](k, w)
		specials[kernels.F16](k, w)
		specials[kernels.BF16](k, w)
		specials[float64](k, w)
	})
}

func specials[T kernels.Ordered](k *kit, w *kernels.Workspace) {
	k.Helper()
	nan, inf := math.NaN(), math.Inf(1)
	for cols := range 40 {
		l := layout{rows: 12, cols: cols + 1, skip: cols % 3}
		v := random(l.rows*l.cols, 3)
		for i := range v {
			v[i] = math.Round(v[i] / 4)
			switch r := i / l.cols; {
			case r == 0, r == 1 && i%5 == 1:
				v[i] = -inf
			case r == 2 && i%7 == 3, r == 3:
				v[i] = inf
			case r == 4 && i%l.cols == cols/2, r == 5, r == 6 && i%3 == 0:
				v[i] = nan
			case r == 7:
				v[i] = 5
			case r == 8 && i%l.cols == cols:
				v[i] = -nan
			case r == 9: // the two zeros are equal
				v[i] = math.Copysign(0, float64(i%l.cols-cols/2))
			case r == 10:
				v[i] = math.Copysign(0, float64(cols/2-i%l.cols))
			}
		}
		s := sheetOf[T](k, l, v)
		picks(k, w, s, "max", kernels.MaxRows[T], func(row []float64) float64 { return row[argmax(row)] })
		picks(k, w, s, "min", kernels.MinRows[T], func(row []float64) float64 { return row[argmin(row)] })
		picks(k, w, s, "argmax", kernels.ArgmaxRows[T], func(row []float64) float64 { return float64(argmax(row)) })
		s.close()
	}
}

// The bits of NaNs of both signs, quiet and signalling.
var (
	nansF16  = floatsOf(num.F16FromBits, 0xfe00, 0x7e00, 0x7fff, 0xffff, 0x7c01, 0xfd23)
	nansBF16 = floatsOf(num.BF16FromBits, 0xffc0, 0x7fc0, 0x7fff, 0xffff, 0x7f81, 0xffa5)
)

// Argmax must return the first NaN of a row. The result must not depend on the bits of the NaNs or
// on numbers before the first NaN.
func TestTheFirstNaNIsTheLargestWhateverItsBits(t *testing.T) {
	each(t, func(k *kit) {
		w := workspace(k)
		firstNaNs(k, w, nansF16)
		firstNaNs(k, w, nansBF16)
		firstNaNs(k, w, floatsOf(math.Float32frombits, 0xffc00000, 0x7fc00000, 0x7fffffff, 0xffffffff, 0x7f800001, 0xff812345))
		firstNaNs(k, w, floatsOf(math.Float64frombits, 0xfff8<<48, 0x7ff8<<48, math.MaxInt64, math.MaxUint64, 0x7ff0<<48|1, 0xfff1<<48))
	})
}

func floatsOf[T any, B uint16 | uint32 | uint64](value func(B) T, patterns ...B) (v []T) {
	for _, p := range patterns {
		v = append(v, value(p))
	}
	return v
}

func firstNaNs[T kernels.Ordered](k *kit, w *kernels.Workspace, nans []T) {
	k.Helper()
	manyNaNs(k, w, nans)
	longWithNaNs(k, w, nans)
}

// manyNaNs tests rows with an earlier and a later NaN, for each pair of NaNs. The pair
// lies within a 16-byte pack, within a thread, or across threads, warps and, in long
// rows, blocks.
func manyNaNs[T kernels.Ordered](k *kit, w *kernels.Workspace, nans []T) {
	k.Helper()
	for _, cols := range []int{7, 200, 5003} {
		for _, at := range [][2]int{{0, 1}, {2, 5}, {0, cols - 1}, {3, cols / 2}, {cols / 3, cols/3 + 8}, {cols / 2, cols - 1}} {
			at[1] = min(at[1], cols-1)
			rows := len(nans) * len(nans)
			v := elements[T](random(rows*cols, 5))
			for r := range rows {
				v[r*cols+at[0]] = nans[r/len(nans)]
				v[r*cols+at[1]] = nans[r%len(nans)]
				if at[0] > 0 {
					v[r*cols] = element[T](math.Inf(1))
				}
			}
			for _, skip := range []int{0, 1} { // first aligned data, then data that is off by one element
				src := kernels.MatrixOf(device(k, skip, v), rows, cols)
				dst := alloc[int64](k, rows)
				for _, w := range []*kernels.Workspace{nil, w} {
					k.run(kernels.ArgmaxRows(dst, src, w))
					for r, got := range host(k, dst) {
						if got != int64(at[0]) {
							k.Errorf("argmax of %T, %d columns, %#x at %d and %#x at %d: %d", v[0], cols, v[r*cols+at[0]], at[0], v[r*cols+at[1]], at[1], got)
						}
					}
				}
			}
		}
	}
}

// longWithNaNs is like manyNaNs, but for a row that many blocks share.
func longWithNaNs[T kernels.Ordered](k *kit, w *kernels.Workspace, nans []T) {
	k.Helper()
	const first, second = 20000, 40000
	src, dst := device(k, 0, elements[T](random(50001, 6))), alloc[int64](k, 1)
	op := k.made(kernels.Argmax(dst, src, w))
	if g := op.Config().Grid.X; g < 2 {
		k.Fatalf("a grid of %d does not share the work", g)
	}
	for _, a := range nans {
		for _, b := range nans {
			k.ok(src.View(first, first+1).CopyFrom([]T{a}))
			k.ok(src.View(second, second+1).CopyFrom([]T{b}))
			k.run(op, nil)
			if got := host(k, dst)[0]; got != first {
				k.Errorf("argmax of %T, %#x at %d and %#x at %d: %d", a, a, first, b, second, got)
			}
		}
	}
}

// Repeated reductions must give the same results. With a workspace, many blocks share a
// long row, and data left in the workspace must not affect the next operation.
func TestReductionsInAGraphAreTheSameEachTime(t *testing.T) {
	each(t, func(k *kit) {
		w, n := workspace(k), 50001
		src := device(k, 1, elements[float32](random(n, 4)))
		total, most, place := alloc[float32](k, 1), alloc[float32](k, 1), alloc[int64](k, 1)
		ops := []*driver.Launch{
			k.made(kernels.Sum(total, src, w)), k.made(kernels.Max(most, src, w)), k.made(kernels.Argmax(place, src, w)),
		}
		if g := ops[0].Config().Grid.X; g < 2 {
			t.Fatalf("a grid of %d does not share the work", g)
		}
		f := dataflow.New(k.c)
		for _, op := range ops {
			_, err := f.Add(op)
			k.ok(err)
		}
		g, err := f.Build()
		k.ok(err)
		k.closeLater(g)
		if c, err := g.Check(); err != nil || len(c.Conflicts)+len(c.Unknown) != 0 {
			t.Errorf("conflicts %v, unknown %v, %v", c.Conflicts, c.Unknown, err)
		}
		x, err := g.Instantiate()
		k.ok(err)
		k.closeLater(x)
		var first float32
		for i := range 5 {
			k.ok(total.Fill(0))
			k.ok(x.Run(t.Context(), k.s))
			sum, at := host(k, total)[0], host(k, place)[0]
			if i == 0 {
				first = sum
			}
			if sum != first || host(k, most)[0] != host(k, src)[at] {
				t.Errorf("run %d: sum %v and then %v, largest %v at %d", i, first, sum, host(k, most)[0], at)
			}
		}
		want := 0.0
		for _, v := range host(k, src) {
			want += float64(v)
		}
		if !near[float32](float64(first), want, 1e-2) {
			t.Errorf("sum %v, want %v", first, want)
		}
	})
}

// An operation created for many rows and columns must also work on fewer rows and columns.
func TestReductionsOfFewerRowsAndColumns(t *testing.T) {
	each(t, func(k *kit) {
		w := workspace(k)
		l := layout{rows: 3, cols: 20000}
		s := sheetOf[int32](k, l, numbers[int32](l.rows*l.cols, 5))
		defer s.close()
		dst := alloc[int64](k, 3)
		op := k.made(kernels.SumRows(dst, s.device, w))
		for _, rows := range []int{3, 2, 0} {
			for _, cols := range []int{20000, 777, 0} {
				k.ok(dst.Fill(-1))
				k.ok(driver.SetArg(op, 2, uint64(rows)))
				k.ok(driver.SetArg(op, 3, uint64(cols)))
				k.run(op, nil)
				for r, got := range host(k, dst) {
					want := int64(-1)
					if r < rows {
						want = 0
						for _, v := range s.row(r)[:cols] {
							want += int64(v)
						}
					}
					if got != want {
						t.Errorf("%d rows, %d columns: row %d has the sum %d, want %d", rows, cols, r, got, want)
					}
				}
			}
		}
	})
}

func TestReductionsThatCannotBeAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		b, one, sum8 := alloc[float32](k, 10), alloc[float32](k, 1), alloc[int64](k, 1)
		_, err := kernels.Sum(b, b, nil)
		k.refused(err, "sum", "dst has 10 elements", "1 results")
		_, err = kernels.Sum(b.View(0, 1), b, nil)
		k.refused(err, "dst and src overlap")
		_, err = kernels.Sum(sum8, b, nil)
		k.refused(err, "no sum of f32 in i64", "f32_f64")
		_, err = kernels.Max(nil, one, nil)
		k.refused(err, "max", "dst is nil")
		_, err = kernels.Argmax[float32](sum8, nil, nil)
		k.refused(err, "argmax", "src is nil")
		w, err := kernels.NewWorkspace(k.c)
		k.ok(err)
		k.ok(w.Close())
		k.ok(w.Close())
		if _, err = kernels.Sum(one, b, w); err == nil {
			t.Error("a workspace that is closed was taken")
		}
	})
}
