package kernelstest

import (
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
)

// on runs a test on emulated devices whose capabilities select different PTX files. With
// -short it uses only the oldest and the newest.
func on(t *testing.T, test func(k *kit, capability [2]int)) {
	t.Helper()
	capabilities := [][2]int{{5, 2}, {9, 0}, {7, 0}, {7, 5}, {8, 0}}
	if testing.Short() {
		capabilities = capabilities[:2]
	}
	for _, c := range capabilities {
		gputest.OnEmulator(t, emulator.Config{ComputeCapability: c}, func(t *testing.T, ctx *driver.Context) {
			test(newKit(t, ctx), c)
		})
	}
}

func TestOperationsOnRowsOnDevicesOfEachText(t *testing.T) {
	on(t, func(k *kit, _ [2]int) {
		softmaxes[kernels.F16](k)
		softmaxes[kernels.BF16](k)
		norms[kernels.F16](k)
		norms[kernels.BF16](k)
		w := workspace(k)
		extremes[kernels.F16](k, w)
		extremes[float32](k, w)
		specials[kernels.F16](k, w)
		specials[kernels.BF16](k, w)
		specials[float32](k, w)
		manyNaNs(k, w, nansF16)
		manyNaNs(k, w, nansBF16)
	})
}

func TestNewDevicesHaveATextOfTheirOwn(t *testing.T) {
	on(t, func(k *kit, capability [2]int) {
		m := kernels.MatrixOf(alloc[kernels.BF16](k, 64), 4, 16)
		for _, op := range []*driver.Launch{
			k.made(kernels.Softmax(m, m, 1)), k.made(kernels.RMSNorm(m, m, nil, eps)), k.made(kernels.LayerNorm(m, m, nil, nil, eps)),
		} {
			if got, want := strings.HasSuffix(op.Kernel().Name(), "_sm90"), capability[0] >= 9; got != want {
				k.Errorf("%v: %v", capability, op.Kernel().Name())
			}
		}
		places, work := alloc[int64](k, 4), workspace(k)
		for op, has := range map[*driver.Launch]bool{
			k.made(kernels.MaxRows(alloc[kernels.BF16](k, 4), m, work)):                                         true,
			k.made(kernels.ArgmaxRows(places, kernels.MatrixOf(alloc[float32](k, 64), 4, 16), work)):            true,
			k.made(kernels.ArgmaxRows(places, kernels.MatrixOf(alloc[int32](k, 64), 4, 16), work)):              false,
			k.made(kernels.MinRows(alloc[float64](k, 4), kernels.MatrixOf(alloc[float64](k, 64), 4, 16), work)): false,
		} {
			if got, want := strings.HasSuffix(op.Kernel().Name(), "_sm80"), has && capability[0] >= 8; got != want {
				k.Errorf("%v: %v", capability, op.Kernel().Name())
			}
		}
		a := kernels.Quantized[kernels.BF16]{Mem: alloc[uint8](k, 4*64), Scales: alloc[kernels.BF16](k, 4), Rows: 4, Cols: 128, Bits: 4}
		product := k.made(kernels.GemvQuantized(alloc[kernels.BF16](k, 4), a, alloc[kernels.BF16](k, 128)))
		if got, want := strings.HasSuffix(product.Kernel().Name(), "_sm80"), capability[0] >= 8; got != want {
			k.Errorf("%v: %v", capability, product.Kernel().Name())
		}
		long := kernels.MatrixOf(alloc[float32](k, 16385), 1, 16385)
		for _, op := range []*driver.Launch{
			k.made(kernels.Softmax(long, long, 1)), k.made(kernels.RMSNorm(long, long, nil, eps)), k.made(kernels.LayerNorm(long, long, nil, nil, eps)),
		} {
			if got, want := strings.HasSuffix(op.Kernel().Name(), "_sm90"), capability[0] >= 9; got != want {
				k.Errorf("%v: %v", capability, op.Kernel().Name())
			}
		}
	})
}

// The variants of a kernel for different devices must produce the same bits.
func TestEachTextGivesTheSameBits(t *testing.T) {
	var first [][]kernels.BF16
	on(t, func(k *kit, capability [2]int) {
		src := device(k, 1, elements[kernels.BF16](random(5*1003, 30)))
		got := [][]kernels.BF16{}
		for _, skip := range []int{1, 2} { // src and dst have the same alignment first, and then different alignments
			dst := device(k, skip, make([]kernels.BF16, 5*1003))
			to, from := kernels.MatrixOf(dst, 5, 1003), kernels.MatrixOf(src, 5, 1003)
			k.run(kernels.Softmax(to, from, 0.5))
			got = append(got, host(k, dst))
			k.run(kernels.LayerNorm(to, from, nil, nil, eps))
			got = append(got, host(k, dst))
		}
		if first == nil {
			first = got
		}
		for i := range got {
			if !slices.Equal(got[i], first[i]) {
				k.Errorf("%v: result %d differs from that of the first device", capability, i)
			}
		}
	})
}

// With a seed, the emulator delays asynchronous copies until the kernel waits for them.
func TestRowsThatAreCopiedLate(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{ComputeCapability: [2]int{9, 0}, Seed: 1}, func(t *testing.T, ctx *driver.Context) {
		k := newKit(t, ctx)
		softmaxes[float32](k)
		norms[kernels.F16](k)
	})
}
