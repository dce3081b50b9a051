package conv

import "github.com/purecuda/cuda/ptx/gpu"

// A thread of Direct computes Pixels elements of a plane of dst, which share what it loads of the filter.
const (
	DirectThreads = 256
	Pixels        = 4
)

// Direct computes a convolution with few filters in a group, as those of depthwise convolutions. What
// neighbouring threads read comes from the cache. The address of bias may be 0.
//
//gpu:kernel block=256 name=conv_direct
//gpu:instance f32 half
func Direct[T Float](t gpu.Thread, dst, src, filters, bias uint64, s Shape) {
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
	x := gpu.ViewAt[T](src, 1<<31).Slice()
	w := gpu.ViewAt[T](filters, 1<<31).Slice()[filter*s.products():]
	var sum [Pixels]float32
	var e tap
	//gpu:unroll 1
	for k := range s.products() {
		f := toFloat32(&s, w[k])
		for j := range at {
			if e.meets(&at[j], &s) {
				sum[j] += f * toFloat32(&s, x[at[j].from+e.at])
			}
		}
		e.next(&s)
	}
	b := biasOf[T](&s, bias, filter)
	out := gpu.ViewAt[T](dst, 1<<31).Slice()[(filter-group*s.Filters)*s.pixels():]
	for j := range at {
		if at[j].y != nowhere {
			out[at[j].to] = fromFloat32[T](&s, sum[j]+b)
		}
	}
}

func biasOf[T Float](s *Shape, bias uint64, filter int32) float32 {
	if bias == 0 {
		return 0
	}
	return toFloat32(s, gpu.ViewAt[T](bias, 1<<31).At(int(filter)))
}
