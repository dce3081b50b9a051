package features

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/gpu"
)

const rows, cols, stride, outStride = 11, 7, 9, 13

// pictures returns test data: the pixels and tables of a picture, and the output and counts.
func pictures() (pixels []float32, a, b []int32, out []float32, counts []int32) {
	pixels = make([]float32, rows*stride)
	for i := range pixels {
		pixels[i] = float32(i)
	}
	return pixels, []int32{100, 200, 300}, []int32{1, 2, 3, 4}, make([]float32, cols*outStride), make([]int32, rows)
}

func at[T any](b *driver.Buffer[T]) gpu.View[T] { return gpu.ViewAt[T](b.Ptr(), b.Len()) }

// The host fills views in structs with the addresses of buffers. The kernel's results must match
// those of plain Go.
func TestViewsInStructs(t *testing.T) {
	each(t, func(d *device) {
		pixels, a, b, out, counts := pictures()
		dp, da, db, do, dc := upload(d, pixels...), upload(d, a...), upload(d, b...), upload(d, out...), upload(d, counts...)
		k := must(TransposeIn(d.c))(d)
		p := picture{-3, gpu.View2DAt[float32](dp.Ptr(), rows, cols, stride), [2]gpu.View[int32]{at(da), at(db)}, 0.5}
		noError(d, k.Do(d.s, k.Grid(cols, rows), gpu.View2DAt[float32](do.Ptr(), cols, rows, outStride), p, dc.All()))
		noError(d, gpu.Run(gpu.D2(1, 2), gpu.D2(16, 8), func(t gpu.Thread) {
			transpose(t, gpu.View2DOf(out, cols, rows, outStride),
				picture{-3, gpu.View2DOf(pixels, rows, cols, stride), [2]gpu.View[int32]{gpu.ViewOf(a), gpu.ViewOf(b)}, 0.5}, gpu.ViewOf(counts))
		}))
		if got := download(d, do); !slices.Equal(got, out) || out[outStride] == 0 {
			d.Errorf("the output is %v, want %v", got, out)
		}
		if got := download(d, dc); !slices.Equal(got, counts) || counts[3] != outStride {
			d.Errorf("the counts are %v, want %v", got, counts)
		}
		if got := download(d, dp); got[stride] != -1 || got[stride+2] != stride+2 {
			d.Errorf("the pixels are %v", got)
		}
	})
}

// A prepared launch can replace a struct that contains views. An index outside of a view is a
// fault.
func TestViewsHaveBounds(t *testing.T) {
	each(t, func(d *device) {
		pixels, a, b, out, counts := pictures()
		dp, da, db, do, dc := upload(d, pixels...), upload(d, a...), upload(d, b...), upload(d, out...), upload(d, counts...)
		k := must(TransposeIn(d.c))(d)
		p := picture{0, gpu.View2DAt[float32](dp.Ptr(), rows, cols, stride), [2]gpu.View[int32]{at(da), at(db)}, 1}
		args := must(k.Prepare(k.Grid(cols, rows), gpu.View2DAt[float32](do.Ptr(), cols, rows, outStride), p, dc))(d)
		noError(d, d.s.Do(args.Launch))
		noError(d, d.s.Wait(context.Background()))
		noError(d, args.Out.Set(gpu.View2DAt[float32](do.Ptr(), cols, rows-1, outStride)))
		noError(d, d.s.Do(args.Launch))
		if err := d.s.Wait(context.Background()); err == nil || !strings.Contains(err.Error(), "features/features.go:122:2: index out of range [10] with length 10 in kernel features.transpose") {
			d.Errorf("with too few columns, the error is %v", err)
		}
	})
}
