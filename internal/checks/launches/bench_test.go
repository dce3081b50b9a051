package launches_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/checks/launches"
	"github.com/purecuda/cuda/internal/gputest"
)

// BenchmarkDo measures launches with a driver whose launch function does nothing. It uses kernels
// with few parameters and kernels with many.
func BenchmarkDo(b *testing.B) {
	r := newRig(b, gputest.Silent(b, cu.FnCuLaunchKernel))
	names := map[string]bool{"fill_b32": true, "add_f32": true, "sum_f32_f32": true, "layernorm_f32": true, "rope_f32": true, "strided_copy": true}
	r.each(func(l launches.Launch, k *driver.Kernel, do launches.Do) {
		if names[l.Kernel] {
			b.Run(l.Kernel, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := do(r.s); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}
