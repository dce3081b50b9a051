package features

import "github.com/purecuda/cuda/ptx/gpu"

// divisor is recursive, so the compiler cannot inline it.
func divisor(a, b uint32) uint32 {
	if b == 0 {
		return a
	}
	return divisor(b, a%b)
}

// divisors calls a recursive function but is not recursive itself.
//
//gpu:noinline
func divisors(a, b uint32, n int) uint32 {
	sum := uint32(0)
	for i := range n {
		sum += divisor(a+uint32(i), b)
	}
	return sum
}

// mixed is not recursive, and calls no function that is.
//
//gpu:noinline
func mixed(a, b uint32) uint32 { return a*0x9e3779b9 ^ b>>3 }

// recursions shuffles and votes between calls of functions that lead to a recursive one and of one that does not.
//
//gpu:kernel block=64
func recursions(t gpu.Thread, x, out []uint32, n int, odd bool) {
	i := t.GlobalX()
	if t.GridStrideX() > len(x) {
		return
	}
	v := x[i]
	own := v&1 != 0
	out[4*i] = gpu.Ballot(t, odd)
	s := divisors(v, 12, n)
	s += gpu.ShuffleXor(t, s, 5)
	if gpu.Any(t, own) {
		s = mixed(s, v)
	}
	out[4*i+1] = s
	out[4*i+2] = divisors(gpu.ShuffleUp(t, s, 3), v, 2)
	out[4*i+3] = divisor(gpu.Ballot(t, own), gpu.Shuffle(t, v, n))
}
