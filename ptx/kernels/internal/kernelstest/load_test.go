package kernelstest

import (
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
	"github.com/purecuda/cuda/ptx/kernels/internal/unary"
	"github.com/purecuda/cuda/ptx/kernels/internal/variant"
)

// The driver must compile a kernel for a type in less time than the whole file with that kernel. The variable
// CUDA_CACHE_DISABLE=1 keeps the driver from using earlier results.
func TestTimeToLoad(t *testing.T) {
	if os.Getenv("PURECUDA_BENCH") != "1" {
		t.Skip("PURECUDA_BENCH is not 1")
	}
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		for _, v := range []struct {
			file, kernel string
			constants    []variant.Constant
		}{
			{"softmaxsm90", "softmax_sm90", []variant.Constant{{Number: 8, Value: uint32(rows.BF16)}}},
			{"softmaxsm90", "softmax_short_sm90", []variant.Constant{{Number: 8, Value: uint32(rows.BF16)}}},
			{"normsm90", "norm_sm90", []variant.Constant{{Number: 10, Value: uint32(rows.F16 | rows.RMS)}}},
			{"extremesm80", "extreme_b32_sm80", []variant.Constant{{Number: 6, Value: 1}, {Number: 9, Value: rows.OfIndex}}},
			{"sum", "sum_f32", []variant.Constant{{Number: 6, Value: 1}, {Number: 8, Value: uint32(rows.F32)}}},
			{"unary", "unary_half", []variant.Constant{{Number: 4, Value: unary.GELU}}},
			{"gemv", "gemv", []variant.Constant{{Number: 7, Value: uint32(rows.F16)}, {Number: 10}, {Number: 11, Value: uint32(rows.F16)}}},
			{"radix", "sort_b32", nil},
		} {
			whole, err := fs.ReadFile(kernels.Texts(), v.file+"/"+v.file+"_gpu.ptx")
			k.ok(err)
			key := variant.Key{Kernel: [5]string{v.kernel}}
			copy(key.Constants[:], v.constants)
			text, err := variant.Text(whole, key)
			k.ok(err)
			one, all := k.timeToLoad(text), k.timeToLoad(whole)
			t.Logf("%-20s %5.0f ms, the whole file %5.0f ms", v.kernel, one, all)
			if one >= all {
				t.Errorf("%s does not take less time than the whole file", v.kernel)
			}
		}
	})
}

// timeToLoad returns the middle of several times in milliseconds.
func (k *kit) timeToLoad(text []byte) float64 {
	k.Helper()
	var times []time.Duration
	for range 5 {
		start := time.Now()
		m, err := k.c.LoadModule(text)
		k.ok(err)
		times = append(times, time.Since(start))
		k.ok(m.Close())
	}
	return middle(times).Seconds() * 1000
}
