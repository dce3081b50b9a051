package kernelstest

import (
	"math/rand/v2"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/ptx/kernels"
)

// walk calls f with the destination and the source position of every element of an array.
func walk(shape []int, to, from kernels.Layout, f func(to, from int)) {
	index := make([]int, len(shape))
	for _, n := range shape {
		if n == 0 {
			return
		}
	}
	for {
		t, s := to.Offset, from.Offset
		for d, i := range index {
			t, s = t+i*to.Strides[d], s+i*from.Strides[d]
		}
		f(t, s)
		d := len(index) - 1
		for ; d >= 0; d-- {
			if index[d]++; index[d] < shape[d] {
				break
			}
			index[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

// strides compares a copy that a kernel makes with a copy made on the host.
func strides[T kernels.Element](k *kit, skip, size int, shape []int, to, from kernels.Layout) {
	k.Helper()
	values, want := make([]T, size), make([]T, size)
	for i := range values {
		values[i] = fromWord[T](uint64(i%120 + 1))
	}
	walk(shape, to, from, func(t, s int) { want[t] = values[s] })
	dst, src := device(k, skip, make([]T, size)), device(k, 2*skip, values)
	k.run(kernels.StridedCopy(dst, to, src, from, shape))
	compare(k, "strided copy", host(k, dst), func(i int) T { return want[i] })
}

func TestStridedCopyOfAnyShape(t *testing.T) {
	each(t, func(k *kit) {
		r := rand.New(rand.NewPCG(3, 3))
		for range 40 {
			var shape []int
			for range r.IntN(kernels.MaxDims + 1) {
				shape = append(shape, 1+r.IntN(4))
			}
			order := r.Perm(len(shape))
			moved := make([]int, len(shape))
			for i, d := range order {
				moved[i] = shape[d]
			}
			// The destination is row-major, and the source is permuted.
			to, from := kernels.RowMajor(moved...), kernels.RowMajor(shape...).Permute(order...)
			to.Offset, from.Offset = r.IntN(5), r.IntN(5)
			size := 5
			for _, n := range shape {
				size *= n
			}
			size += 5
			strides[float32](k, 0, size, moved, to, from)
			strides[kernels.F16](k, 1, size, moved, to, from)
		}
		strides[uint8](k, 0, 100, []int{10, 10}, kernels.RowMajor(10, 10), kernels.RowMajor(10, 10))
		strides[uint8](k, 3, 100, []int{9}, kernels.Layout{Strides: []int{11}}, kernels.Layout{Offset: 99, Strides: []int{-11}})
		strides[float64](k, 0, 100, []int{3, 5, 4}, kernels.RowMajor(3, 5, 4), kernels.Layout{Offset: 7, Strides: []int{0, 4, 1}})
		strides[int64](k, 1, 100, []int{0, 5}, kernels.RowMajor(0, 5), kernels.RowMajor(0, 5))
		strides[int64](k, 1, 2, nil, kernels.Layout{Offset: 1}, kernels.Layout{})
		strides[int32](k, 0, 4096, []int{16, 4, 8}, kernels.Layout{Strides: []int{256, 8, 1}}, kernels.Layout{Offset: 128, Strides: []int{64, 8, 1}})
	})
}

// A copy with large strides, here 8 MiB, must be correct.
func TestStridedCopyOverLargeStrides(t *testing.T) {
	each(t, func(k *kit) {
		const far = 1 << 20
		src, dst := alloc[int64](k, 3*far+8), alloc[int64](k, 8)
		for i := range 4 {
			k.ok(src.View(i*far, i*far+2).CopyFrom([]int64{int64(i), int64(-i)}))
		}
		k.run(kernels.StridedCopy(dst, kernels.RowMajor(4, 2), src, kernels.Layout{Strides: []int{far, 1}}, []int{4, 2}))
		compare(k, "strided copy", host(k, dst), func(i int) int64 { return int64(i / 2 * (1 - i%2*2)) })
	})
}

// A graph node must keep the shape and strides of its copy. Later changes to the host's values must
// not affect replays.
func TestStridedCopyKeepsItsShapeInAGraph(t *testing.T) {
	each(t, func(k *kit) {
		src, dst := device(k, 0, []float32{1, 2, 3, 4, 5, 6}), alloc[float32](k, 6)
		to, turned := kernels.RowMajor(3, 2), kernels.RowMajor(2, 3).Permute(1, 0)
		op := k.made(kernels.StridedCopy(dst, to, src, turned, []int{3, 2}))
		g, err := graph.New(k.c)
		k.ok(err)
		k.closeLater(g)
		n, err := g.Add(op)
		k.ok(err)
		x, err := g.Instantiate()
		k.ok(err)
		k.closeLater(x)
		turned.Strides[0] = 99
		straight, err := kernels.NewStrided(dst, to, src, to, 3, 2)
		k.ok(err)
		shape, err := driver.ArgOf[kernels.Strided](op, 2)
		k.ok(err)
		k.ok(shape.Set(straight))
		for range 2 {
			k.ok(dst.Fill(0))
			k.ok(x.Run(t.Context(), k.s))
			compare(k, "first", host(k, dst), func(i int) float32 { return []float32{1, 4, 2, 5, 3, 6}[i] })
		}
		k.ok(x.Set(n, op))
		k.ok(x.Run(t.Context(), k.s))
		compare(k, "changed", host(k, dst), func(i int) float32 { return float32(i + 1) })
	})
}

func TestStridedCopyRefusesWhatIsOutside(t *testing.T) {
	each(t, func(k *kit) {
		b := alloc[float32](k, 40)
		dst, src := b.View(0, 20), b.View(20, 40)
		row := kernels.RowMajor
		for _, c := range []struct {
			to, from kernels.Layout
			shape    []int
			word     string
		}{
			{row(4, 5), row(4), []int{4, 5}, "1 strides"},
			{row(5, 5), row(5, 5), []int{5, 5}, "dst"},
			{row(4, 5), kernels.Layout{Offset: 1, Strides: []int{5, 1}}, []int{4, 5}, "1 to 20"},
			{row(4, 5), kernels.Layout{Strides: []int{-5, 1}}, []int{4, 5}, "src"},
			{kernels.Layout{Strides: []int{0, 1}}, row(4, 5), []int{4, 5}, "same place"},
			{row(4, 5), row(4, 5), []int{4, -5}, "not a shape"},
			{row(4, 5), kernels.Layout{Strides: []int{1 << 61, 1}}, []int{4, 5}, "does not fit any memory"},
			{row(1<<40, 1<<40), row(1, 1), []int{1 << 40, 1 << 40}, "not a shape"},
		} {
			_, err := kernels.StridedCopy(dst, c.to, src, c.from, c.shape)
			k.refused(err, "strided copy", c.word)
		}
		_, err := kernels.StridedCopy(b, row(4, 5), b, kernels.Layout{Offset: 19, Strides: []int{5, 1}}, []int{4, 5})
		k.refused(err, "overlap")
		k.run(kernels.StridedCopy(b, row(4, 5), b, kernels.Layout{Offset: 20, Strides: []int{5, 1}}, []int{4, 5}))
	})
}
