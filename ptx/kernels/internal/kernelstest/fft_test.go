package kernelstest

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/ptx/kernels"
)

// buffer copies v to device memory, skip elements after the start of a buffer.
func buffer(k *kit, skip int, v []complex64) driver.View[complex64] {
	k.Helper()
	b, err := driver.Alloc[complex64](k.c, skip+len(v)+1)
	k.ok(err)
	k.closeLater(b)
	d := b.View(skip, skip+len(v))
	k.ok(d.CopyFrom(v))
	return d
}

func TestFFT(t *testing.T) {
	each(t, func(k *kit) {
		most := 1 << 15
		if !k.emulated() {
			most = 1 << 20
		}
		for n := 8; n <= most; n *= 2 {
			for _, rows := range []int{0, 1, 3} {
				if rows != 3 && n > 8192 || rows == 3 && n >= 1<<18 {
					continue
				}
				fft(k, n, rows, false)
			}
			fft(k, n, 1, true)
		}
		if k.emulated() { // the longest rows of both launches
			fft(k, 1<<19, 1, false)
		}
	})
}

// Devices with little shared memory for a block need a second launch.
func TestFFTOnDevicesWithDifferentSharedMemory(t *testing.T) {
	on(t, func(k *kit, capability [2]int) {
		shared, err := k.c.Device().Attribute(cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
		k.ok(err)
		for _, n := range []int{8192, 16384} {
			b := buffer(k, 0, make([]complex64, n))
			ops, err := kernels.FFT(b, b, n, false, 1, workspaceOf(k, kernels.FFTWorkspace(n, 1)))
			k.ok(err)
			if one := 8*n <= int(shared); one != (len(ops) == 1) {
				k.Errorf("%v: %d launches for %d numbers, with %d bytes of shared memory", capability, len(ops), n, shared)
			}
			fft(k, n, 1, false)
		}
	})
}

func fft(k *kit, n, rows int, inverse bool) {
	k.Helper()
	r := random(2*n*rows, uint64(n))
	x := make([]complex64, n*rows)
	for i := range x {
		x[i] = complex(float32(r[2*i]), float32(r[2*i+1]))
	}
	work := workspaceOf(k, kernels.FFTWorkspace(n, rows))
	src, dst := buffer(k, 1, x), buffer(k, 0, make([]complex64, len(x)))
	k.do(kernels.FFT(dst, src, n, inverse, 0.5, work))
	got := make([]complex64, len(x))
	k.ok(dst.CopyTo(got))
	for row := range rows {
		want := exactFFT(x[row*n:][:n], inverse)
		square := 0.0
		for _, v := range want {
			square += real(v)*real(v) + imag(v)*imag(v)
		}
		limit := 3e-7 * math.Sqrt(square/float64(n)) * 6 // the largest of many errors
		for i, v := range want {
			if d := cmplx.Abs(complex128(got[row*n+i]) - v/2); !(d <= limit) {
				k.Fatalf("%d numbers, row %d, inverse %v: number %d is %v, want %v", n, row, inverse, i, got[row*n+i], v/2)
			}
		}
	}
	k.do(kernels.FFT(dst, dst, n, !inverse, 2/float32(n), work)) // in place
	k.ok(dst.CopyTo(got))
	for i, v := range got {
		if d := cmplx.Abs(complex128(v - x[i])); !(d <= 2e-5) {
			k.Fatalf("%d numbers: number %d returns as %v, want %v", n, i, v, x[i])
		}
	}
}

// exactFFT transforms in complex128, recursively.
func exactFFT(x []complex64, inverse bool) []complex128 {
	v := make([]complex128, len(x))
	for i := range x {
		v[i] = complex128(x[i])
	}
	sign := -2.0
	if inverse {
		sign = 2
	}
	var halve func(v []complex128) []complex128
	halve = func(v []complex128) []complex128 {
		n := len(v)
		if n == 1 {
			return v
		}
		even, odd := make([]complex128, n/2), make([]complex128, n/2)
		for i := range even {
			even[i], odd[i] = v[2*i], v[2*i+1]
		}
		even, odd = halve(even), halve(odd)
		all := make([]complex128, n)
		for i := range even {
			w := cmplx.Rect(1, sign*math.Pi*float64(i)/float64(n)) * odd[i]
			all[i], all[i+n/2] = even[i]+w, even[i]-w
		}
		return all
	}
	return halve(v)
}

func TestWrongFFTs(t *testing.T) {
	each(t, func(k *kit) {
		b := buffer(k, 0, make([]complex64, 1<<15))
		work := workspaceOf(k)
		check := func(dst, src driver.View[complex64], n int, w *kernels.Workspace, words ...string) {
			k.Helper()
			_, err := kernels.FFT(dst, src, n, false, 1, w)
			k.refused(err, append(words, "fft")...)
		}
		check(b.View(0, 16), b.View(16, 40), 8, nil, "16", "24")
		check(b.View(0, 16), b.View(8, 24), 8, nil, "overlap")
		check(b.View(0, 48), b.View(0, 48), 24, nil, "24 numbers")
		check(b.View(0, 40), b.View(0, 40), 16, nil, "not a whole number")
		check(b, b, 1<<15, nil, "work is nil")
		check(b, b, 1<<15, work, "NewWorkspace")
	})
}
