package kernelstest

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/num"
)

const eps = 1e-5

func TestNormsOfRows(t *testing.T) {
	each(t, func(k *kit) {
		norms[float32](k)
		norms[kernels.F16](k)
		norms[kernels.BF16](k)
	})
}

// norms tests both norms, with and without weight and bias, on rows with a nonzero mean.
func norms[T kernels.NetFloat](k *kit) {
	k.Helper()
	for _, l := range k.layouts() {
		v := random(l.rows*l.cols, 8)
		for i := range v {
			v[i] += float64(i / l.cols % 4)
		}
		s := sheetOf[T](k, l, v)
		for _, skip := range []int{-1, 0, 1} {
			n := &normed[T]{s: s}
			if skip >= 0 {
				n.columns(k, skip)
			}
			n.rms(k)
			n.layer(k)
			k.ok(n.weightMem.Close())
			k.ok(n.biasMem.Close())
		}
		s.close()
	}
}

type normed[T kernels.NetFloat] struct {
	s                  *sheet[T]
	weightMem, biasMem *driver.Buffer[T]
	weight, bias       driver.MemoryOf[T]
	w, b               []float64
}

func (n *normed[T]) columns(k *kit, skip int) {
	n.weightMem, n.weight, n.w = column[T](k, skip, n.s.cols, 9)
	n.biasMem, n.bias, n.b = column[T](k, skip, n.s.cols, 10)
}

func column[T kernels.NetFloat](k *kit, skip, cols int, seed uint64) (*driver.Buffer[T], driver.MemoryOf[T], []float64) {
	k.Helper()
	e := elements[T](random(skip+cols, seed))
	mem, err := driver.AllocFrom(k.c, e)
	k.ok(err)
	f := make([]float64, cols)
	for i := range f {
		f[i] = number(e[skip+i])
	}
	return mem, mem.View(skip, skip+cols), f
}

func at(v []float64, i int, none float64) float64 {
	if v == nil {
		return none
	}
	return v[i]
}

func (n *normed[T]) rms(k *kit) {
	k.Helper()
	n.check(k, "RMS norm", k.made(kernels.RMSNorm(n.s.device, n.s.device, n.weight, eps)), func(row []float64) (mean, factor float64, bias []float64) {
		for _, v := range row {
			factor += v * v / float64(len(row))
		}
		return 0, 1 / math.Sqrt(factor+eps), nil
	})
}

func (n *normed[T]) layer(k *kit) {
	k.Helper()
	n.check(k, "layer norm", k.made(kernels.LayerNorm(n.s.device, n.s.device, n.weight, n.bias, eps)), func(row []float64) (mean, factor float64, bias []float64) {
		for _, v := range row {
			mean += v / float64(len(row))
		}
		for _, v := range row {
			factor += (v - mean) * (v - mean) / float64(len(row))
		}
		return mean, 1 / math.Sqrt(factor+eps), n.b
	})
}

// check runs an operation in place, compares the result, and restores the original
// numbers.
func (n *normed[T]) check(k *kit, name string, op *driver.Launch, moments func(row []float64) (mean, factor float64, bias []float64)) {
	k.Helper()
	s := n.s
	before := host(k, s.mem)
	k.run(op, nil)
	got := s.read()
	k.ok(s.mem.CopyFrom(before))
	for r := range s.rows {
		mean, factor, bias := moments(s.row(r))
		for c, v := range s.row(r) {
			w, b := at(n.w, c, 1), at(bias, c, 0)
			want := (v-mean)*factor*w + b
			off := 2e-6*(math.Abs(want)+math.Abs(b)+math.Abs(w)) + 2e-7*math.Abs(w*mean)*factor
			if mean == 0 {
				off = 2e-6 * math.Abs(want)
			}
			if g := got[r*s.cols+c]; !near[T](g, want, off) {
				k.far(g, want, off, "%s of %T, %v, with weight: %v, row %d, column %d", name, *new(T), s.layout, n.w != nil, r, c)
				return
			}
		}
	}
}

// The results for a row with a mean far from 0 must be precise. If the variance were computed from
// a sum of squares, its digits would be lost.
func TestLayerNormOfRowsFarFromZero(t *testing.T) {
	each(t, func(k *kit) {
		for _, l := range []layout{{3, 1000, 0, 0}, {3, 1001, 1, 0}, {1, 17408, 0, 0}} {
			v := random(l.rows*l.cols, 11)
			for i := range v {
				v[i] = math.Round(v[i]) + 1000
			}
			s := sheetOf[float32](k, l, v)
			(&normed[float32]{s: s}).layer(k)
			s.close()
		}
	})
}

// A layer norm guesses the mean from elements in the middle of a row, or from the first of a short row. In
// some rows here, the guess is wrong by many standard deviations. Teams of a warp with other rows then repeat
// their sums with them.
func TestLayerNormOfRowsWithAWrongGuess(t *testing.T) {
	each(t, func(k *kit) {
		for _, l := range []layout{{50, 5, 0, 0}, {50, 64, 0, 0}, {50, 63, 1, 0}, {50, 200, 0, 3}, {7, 4096, 0, 0}, {5, 17411, 3, 1}} {
			v := random(l.rows*l.cols, 12)
			for r := 1; r < l.rows; r += 3 {
				row := v[r*l.cols : (r+1)*l.cols]
				row[0] = 3000
				for i := max(l.cols/2-16, 0); i < min(l.cols/2+16, l.cols); i++ {
					row[i] = 3000 + float64(i%2)
				}
			}
			s := sheetOf[float32](k, l, v)
			(&normed[float32]{s: s}).layer(k)
			s.close()
			for r := 1; r < l.rows; r += 3 { // almost all elements are far from the guess
				row := v[r*l.cols : (r+1)*l.cols]
				for i := range row {
					if i != 0 && (i < l.cols/2-16 || i >= l.cols/2+16) {
						row[i] = row[i]/1000 - 7000
					}
				}
			}
			s = sheetOf[float32](k, l, v)
			(&normed[float32]{s: s}).layer(k)
			s.close()
		}
	})
}

// A row with an infinity has no mean and no variance, so all of its elements become NaN.
func TestLayerNormOfInfinities(t *testing.T) {
	each(t, func(k *kit) {
		for _, cols := range []int{3, 64, 65, 1000} {
			v := random(2*cols, 13)
			v[cols-1] = math.Inf(1)
			s := sheetOf[float32](k, layout{2, cols, 0, 0}, v)
			k.run(kernels.LayerNorm(s.device, s.device, nil, nil, eps))
			for i, x := range s.read() {
				if want := i < cols; (x != x) != want {
					t.Errorf("%d columns, row %d: %v", cols, i/cols, x)
					break
				}
			}
			s.close()
		}
	})
}

// An RMS norm keeps the sign of 0, with and without a weight.
func TestRMSNormOfZeros(t *testing.T) {
	test := func(k *kit, rows int) {
		for _, cols := range []int{63, 64} {
			v := make([]kernels.F16, rows*cols)
			for i := range v {
				v[i] = num.F16FromBits(uint16(i%3&1) << 15)
			}
			src, dst, ones := device(k, 0, v), alloc[kernels.F16](k, rows*cols), alloc[kernels.F16](k, cols)
			k.ok(ones.Fill(num.ToF16(1)))
			for _, weight := range []driver.MemoryOf[kernels.F16]{nil, ones} {
				k.run(kernels.RMSNorm(kernels.MatrixOf(dst, rows, cols), kernels.MatrixOf(src, rows, cols), weight, eps))
				for i, got := range host(k, dst) {
					if got.Bits() != v[i].Bits() {
						k.Fatalf("%d columns, weight %v: element %d has the bits %#x, want %#x", cols, weight != nil, i, got.Bits(), v[i].Bits())
					}
				}
			}
		}
	}
	each(t, func(k *kit) { test(k, 3) })
	onManyShortRows(t, test)
}

func TestNormsThatCannotBeAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		b := alloc[float32](k, 110)
		m := kernels.MatrixOf(b, 10, 10)
		_, err := kernels.RMSNorm(m, m, b.View(100, 109), eps)
		k.refused(err, "RMS norm", "weight has 9 elements, but rows have 10")
		_, err = kernels.LayerNorm(m, m, nil, b.View(50, 60), eps)
		k.refused(err, "layer norm", "dst and bias overlap")
		_, err = kernels.LayerNorm(m, m, b.View(7, 8).View(3, 13), nil, eps)
		k.refused(err, "layer norm", "weight")
		long := kernels.MatrixOf(b, 0, 1<<32)
		_, err = kernels.RMSNorm(long, long, nil, eps)
		k.refused(err, "RMS norm", "rows have 4294967296 elements")
		long.Cols--
		k.made(kernels.RMSNorm(long, long, nil, eps))
		k.made(kernels.RMSNorm(m, m, b.View(100, 110), eps))
	})
}

func TestNormsDeclareWhatTheyDo(t *testing.T) {
	each(t, func(k *kit) {
		src, dst, w := alloc[float32](k, 60), alloc[float32](k, 60), alloc[float32](k, 6)
		op := k.made(kernels.RMSNorm(kernels.Matrix[float32]{Mem: dst, Rows: 5, Cols: 6, Pitch: 10}, kernels.MatrixOf(src, 5, 6), w, eps))
		want := []struct {
			name  string
			bytes uint64
			mode  driver.AccessMode
		}{{"dst", 46 * 4, driver.Writes}, {"src", 120, driver.Reads}, {"weight", 24, driver.Reads}}
		uses := op.Uses().Accesses
		if len(uses) != len(want) {
			t.Fatalf("uses %+v", uses)
		}
		for i, w := range want {
			if u := uses[i]; u.What != w.name || u.Bytes != w.bytes || u.Mode != w.mode {
				t.Errorf("uses %+v, want %+v", u, w)
			}
		}
	})
}
