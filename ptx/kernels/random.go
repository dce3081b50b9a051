package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/random"
)

var randomSource = &random.Code

// RandomBits returns the operation that fills dst with random bits. Element i is number first+i of
// the stream that belongs to seed. A number depends only on the seed and on its place in the stream,
// and not on the device or the lengths. To continue a stream, add the number of elements that were
// used to first.
//
// The generator is Philox4x32 with ten rounds, of Random123. The seed is its key. Words 4·g to 4·g+3
// of a stream are the result for the counter g.
//
// Arguments: 0 dst, 1 number of elements (uint64), 2 seed (uint64), 3 first (uint64), and two more,
// which must not be changed. If you change first, its remainder modulo 4 must stay the same. The
// operation writes dst.
func RandomBits(dst driver.MemoryOf[uint32], seed, first uint64, again ...*driver.Launch) (*driver.Launch, error) {
	return randomNumbers("random bits", random.Bits, dst, seed, first, again)
}

// RandomUniform is like [RandomBits], but for numbers that are uniform in [0, 1). A float32 is a
// multiple of 2^-24 and uses one word of the generator. A float64 is a multiple of 2^-53 and uses two.
func RandomUniform[T float32 | float64](dst driver.MemoryOf[T], seed, first uint64, again ...*driver.Launch) (*driver.Launch, error) {
	return randomNumbers("random uniform", random.Uniform, dst, seed, first, again)
}

// RandomNormal is like [RandomUniform], but for numbers with a normal distribution with mean 0 and
// standard deviation 1. They are computed by the method of Box and Muller. Devices that compute the
// same number may differ in its last bits.
func RandomNormal[T float32 | float64](dst driver.MemoryOf[T], seed, first uint64, again ...*driver.Launch) (*driver.Launch, error) {
	return randomNumbers("random normal", random.Normal, dst, seed, first, again)
}

func randomNumbers[T uint32 | float32 | float64](op string, distribution uint32, dst driver.MemoryOf[T], seed, first uint64, again []*driver.Launch) (*driver.Launch, error) {
	d := operandOf("dst", dst)
	if err := usable(d); err != nil {
		return nil, opError(op, err)
	}
	group := uint64(pack(d.size)) // numbers that a thread computes
	before := first % group
	whole := uint32(0)
	if before == 0 {
		whole = wide(d)
	}
	m := maker{randomSource, d.mem.Context(), kernelName{"random_", bitsName[T]()}, reused(again)}
	cfg := cover((before + d.n + group - 1) / group)
	l, err := m.prepare(&cfg, out(&d), u64(d.n), u64(seed), u64(first), u32(whole), constant(distribution))
	if err != nil {
		return nil, opError(op, err)
	}
	return l, nil
}
