package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// FFT1024 transforms each section of 1,024 complex numbers of x. A block transforms one section.
// roots contains the powers of the 1,024th root of unity. The five passes have radix 4 and exchange
// numbers through shared memory. The slices contain pairs of real and imaginary parts, which must be
// aligned to 8 bytes, as in CUDA C++. A []complex64 may be aligned to 4 bytes, for which go2ptx compiles a
// second version of the kernel.
//
//gpu:kernel block=256 restrict=out,x,roots
func FFT1024(t gpu.Thread, out, x, roots []float32) {
	re := gpu.Shared[[1024]float32](t)
	im := gpu.Shared[[1024]float32](t)
	x, out = x[2048*t.BlockX():][:2048], out[2048*t.BlockX():][:2048]
	roots = roots[:2048]
	_, _ = *(*[2]float32)(roots), *(*[2]float32)(out) // checks the alignment once, here
	tid := t.ThreadX()
	var v [4]complex64
	for r := range v {
		v[r] = pair(x, tid+256*r)
	}
	for done, step := 1, 256; ; done, step = 4*done, step/4 {
		k := tid & (done - 1) // index of the element in a finished transform
		if done > 1 {
			for r := 1; r < 4; r++ {
				v[r] = times(v[r], pair(roots, k*r*step))
			}
		}
		v = fft4(v)
		if done == 256 {
			break
		}
		t.Sync()
		first := 4*(tid-k) + k
		for r := range v {
			re[first+r*done], im[first+r*done] = real(v[r]), imag(v[r])
		}
		t.Sync()
		for r := range v {
			v[r] = complex(re[tid+256*r], im[tid+256*r])
		}
	}
	for r := range v {
		*(*[2]float32)(out[2*(tid+256*r):]) = [2]float32{real(v[r]), imag(v[r])}
	}
}

// pair returns a complex number of a list of aligned pairs.
func pair(list []float32, i int) complex64 {
	p := *(*[2]float32)(list[2*i:])
	return complex(p[0], p[1])
}

// times returns the product, computed in float32. Go's complex64 multiplication would compute in
// float64.
func times(a, b complex64) complex64 {
	return complex(real(a)*real(b)-imag(a)*imag(b), real(a)*imag(b)+imag(a)*real(b))
}

// fft4 transforms four numbers.
func fft4(v [4]complex64) [4]complex64 {
	a, b, c, d := v[0]+v[2], v[0]-v[2], v[1]+v[3], v[1]-v[3]
	d = complex(imag(d), -real(d))
	return [4]complex64{a + c, b + d, a - c, b - d}
}
