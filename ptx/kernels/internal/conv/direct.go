package conv

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// A thread of Direct computes Pixels elements of a plane of dst, which share what it loads of the filter.
const (
	DirectThreads = 256
	Pixels        = 4
)

// Direct computes a convolution with few filters in a group, as those of depthwise convolutions. What
// neighbouring threads read comes from the cache. The address of bias may be 0.
//
//gpu:kernel block=256 name=conv_direct
func Direct(t gpu.Thread, dst, src, filters, bias uint64, s Shape) {
	quarter := (s.pixels() + Pixels - 1) / Pixels
	planes := s.Groups * s.Filters
	i := int32(t.GlobalX())
	if i >= s.Batch*planes*quarter {
		return
	}
	plane := quotient(i, quarter)
	first := i - plane*quarter
	image := quotient(plane, planes)
	filter := plane - image*planes
	group := quotient(filter, s.Filters)

	var at [Pixels]pixel
	for j := range at {
		p := first + int32(j)*quarter
		at[j] = s.place(image, group, p)
		if p >= s.pixels() {
			at[j].y = nowhere
		}
	}
	first = (filter - group*s.Filters) * s.pixels()
	if s.Type == F32 {
		direct[float32](&s, dst, src, filters, bias, filter, first, &at)
	} else {
		direct[uint16](&s, dst, src, filters, bias, filter, first, &at)
	}
}

// direct computes and stores a thread's pixels.
func direct[T Float](s *Shape, dst, src, filters, bias uint64, filter, first int32, at *[Pixels]pixel) {
	sum := sums[T](s, src, filters, filter, at)
	var b float32
	if bias != 0 {
		b = toFloat32(s, gpu.ViewAt[T](bias, math.MaxInt32).At(int(filter)))
	}
	out := gpu.ViewAt[T](dst, math.MaxInt32)
	for j := range at {
		if at[j].y != nowhere {
			out.Set(int(first+at[j].to), fromFloat32[T](s, sum[j]+b))
		}
	}
}

// sums returns the sums of a thread's pixels.
func sums[T Float](s *Shape, src, filters uint64, filter int32, at *[Pixels]pixel) (sum [Pixels]float32) {
	var from [Pixels]uint64 // the addresses of the first elements under the filter
	for j := range at {
		from[j] = src + uint64(int64(at[j].from)*size[T]())
	}
	w := gpu.ViewAt[T](filters, math.MaxInt32).Slice()[filter*s.products():]
	k := int32(0)
	//gpu:unroll 1
	for c := range s.Channels {
		//gpu:unroll 1
		for r := range s.FilterHeight {
			y := r * s.DilationY
			var x [Pixels]int32 // of the first element, or nowhere if the row is in the padding
			for j := range x {
				x[j] = at[j].x
				if uint32(at[j].y+y) >= uint32(s.Height) {
					x[j] = nowhere
				}
			}
			e := (c*s.Height + y) * s.Width
			//gpu:unroll 1
			for q := int32(0); q < s.FilterWidth*s.DilationX; q += s.DilationX {
				f := toFloat32(s, w[k])
				for j := range x {
					if uint32(x[j]+q) < uint32(s.Width) {
						sum[j] += f * toFloat32(s, gpu.ViewAt[T](from[j]+uint64(int64(e+q)*size[T]()), 1).At(0))
					}
				}
				k++
			}
		}
	}
	return sum
}
