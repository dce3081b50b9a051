package kernelstest

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

// A stream of random numbers can be computed in parts, at any address.
func TestRandomNumbersInParts(t *testing.T) {
	each(t, func(k *kit) {
		inParts(k, "bits", kernels.RandomBits)
		inParts(k, "uniform", kernels.RandomUniform[float32])
		inParts(k, "uniform", kernels.RandomUniform[float64])
		inParts(k, "normal", kernels.RandomNormal[float32])
		inParts(k, "normal", kernels.RandomNormal[float64])
	})
}

func inParts[T uint32 | float32 | float64](k *kit, name string, f func(driver.MemoryOf[T], uint64, uint64, ...*driver.Launch) (*driver.Launch, error)) {
	k.Helper()
	const seed = 1<<40 + 7
	whole := device(k, 0, make([]T, 10007))
	k.run(f(whole, seed, 0))
	want := host(k, whole)
	parts := device(k, 1, make([]T, len(want)))
	begin := 0
	for _, n := range append(sizes[:len(sizes)-2:len(sizes)-2], 10007) {
		end := min(begin+n, len(want))
		k.run(f(parts.View(begin, end), seed, uint64(begin)))
		begin = end
	}
	for i, got := range host(k, parts) {
		if got != want[i] {
			k.Fatalf("%s %T: number %d is %v, want %v", name, got, i, got, want[i])
		}
	}
	k.run(f(parts, seed+1, 0))
	equal := 0
	for i, got := range host(k, parts) {
		if got == want[i] {
			equal++
		}
	}
	if equal > 10 {
		k.Errorf("%s: %d numbers of another seed are equal", name, equal)
	}
}

// The first words of Random123's kat_vectors for key 0.
func TestRandomBitsArePhilox(t *testing.T) {
	each(t, func(k *kit) {
		d := alloc[uint32](k, 4)
		k.run(kernels.RandomBits(d, 0, 0))
		want := [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}
		if got := [4]uint32(host(k, d)); got != want {
			k.Errorf("%x, want %x", got, want)
		}
	})
}
