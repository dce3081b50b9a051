package random

import (
	"fmt"
	"math"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/ptx/kernels/internal/kit"
)

func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }

// The vectors are those of kat_vectors in Random123, the authors' library.
func TestPublishedVectors(t *testing.T) {
	const most = math.MaxUint32
	for _, v := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{most, most, most, most}, [2]uint32{most, most}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		if got := philox(v.counter, v.key[0], v.key[1]); got != v.want {
			t.Errorf("%x with key %x: %x, want %x", v.counter, v.key, got, v.want)
		}
	}
}

const seed = 0x299f31d0a4093822

// kernel names a kernel whose groups have the given size.
type kernel struct {
	name         string
	size         int
	distribution uint32
}

// run returns n numbers of the stream from a first one on, computed skip elements after the start of
// a buffer.
func run[T any](k *kit.Kit, f kernel, n int, first uint64, skip int) []T {
	k.Helper()
	out := kit.Device(k, skip, make([]T, n))
	wide := uint32(0)
	if skip == 0 && first%uint64(f.size) == 0 {
		wide = 1
	}
	groups := (n + int(first%uint64(f.size)) + f.size - 1) / f.size
	cfg := driver.LaunchConfig{Grid: driver.D1(max((groups+Threads-1)/Threads, 1)), Block: driver.D1(Threads)}
	k.Run(f.name, cfg, driver.Out(out), uint64(n), uint64(seed), first, wide, f.distribution)
	return kit.Host(k, out)
}

// The same numbers of a stream must result from every launch that computes them.
func TestNumbersDependOnTheirPlaceOnly(t *testing.T) {
	k := kit.New(t, Module)
	checkPlaces[uint32](t, k, kernel{"random_b32", 4, Bits})
	checkPlaces[float32](t, k, kernel{"random_b32", 4, Uniform})
	checkPlaces[float64](t, k, kernel{"random_b64", 2, Uniform})
	checkPlaces[float32](t, k, kernel{"random_b32", 4, Normal})
	checkPlaces[float64](t, k, kernel{"random_b64", 2, Normal})
}

func checkPlaces[T comparable](t *testing.T, k *kit.Kit, f kernel) {
	const begin = 1<<34 - 4 // the counter needs its second word
	whole := run[T](k, f, 5000, begin, 0)
	for _, n := range []int{0, 1, 2, 3, 4, 5, 255, 1025, 4099} {
		for first := range 6 {
			for skip := range 2 {
				t.Run(fmt.Sprintf("%s/%d/%d/%d", f.name, n, first, skip), func(t *testing.T) {
					for i, v := range run[T](k.With(t), f, n, begin+uint64(first), skip) {
						if v != whole[first+i] {
							t.Fatalf("number %d is %v, want %v", i, v, whole[first+i])
						}
					}
				})
			}
		}
	}
}

func TestBits(t *testing.T) {
	k := kit.New(t, Module)
	for i, v := range run[uint32](k, kernel{"random_b32", 4, Bits}, 100, 1<<34-8, 0) {
		if want := philox([4]uint32{uint32(1<<32 - 2 + i/4), uint32((1<<32 - 2 + i/4) >> 32)}, seed&math.MaxUint32, seed>>32)[i%4]; v != want {
			t.Fatalf("word %d is %#x, want %#x", i, v, want)
		}
	}
}

func TestUniform(t *testing.T) {
	k := kit.New(t, Module)
	words := run[uint32](k, kernel{"random_b32", 4, Bits}, 40000, 0, 0)
	var all []float64
	for i, v := range run[float32](k, kernel{"random_b32", 4, Uniform}, len(words), 0, 0) {
		if want := float32(words[i]>>8) / (1 << 24); v != want {
			t.Fatalf("number %d is %v, want %v", i, v, want)
		}
		all = append(all, float64(v))
	}
	checkMoments(t, all, 0.5, 1.0/12, 0, 1.0/80)
	all = run[float64](k, kernel{"random_b64", 2, Uniform}, len(words)/2, 0, 0)
	for i, v := range all {
		if want := float64(uint64(words[2*i])<<21^uint64(words[2*i+1])>>11) / (1 << 53); v != want {
			t.Fatalf("number %d is %v, want %v", i, v, want)
		}
	}
	checkMoments(t, all, 0.5, 1.0/12, 0, 1.0/80)
}

func TestNormal(t *testing.T) {
	k := kit.New(t, Module)
	words := run[uint32](k, kernel{"random_b32", 4, Bits}, 40000, 0, 0)
	var all []float64
	for i, v := range run[float32](k, kernel{"random_b32", 4, Normal}, len(words), 0, 0) {
		u := (float64(words[i&^1]) + 1) / (1 << 32)
		angle := math.Pi * float64(int32(words[i|1])) / (1 << 31)
		checkNormal(t, i, float64(v), u, angle, 1e-5)
		all = append(all, float64(v))
	}
	checkMoments(t, all, 0, 1, 0, 3)
	all = run[float64](k, kernel{"random_b64", 2, Normal}, len(words)/2, 0, 0)
	for i, v := range all {
		w := words[2*(i&^1):]
		u := float64(uint64(w[0])<<21^uint64(w[1])>>11+1) / (1 << 53)
		angle := math.Pi * (float64(uint64(w[2])<<21^uint64(w[3])>>11) - 1<<52) / (1 << 52)
		checkNormal(t, i, v, u, angle, 1e-14)
	}
	checkMoments(t, all, 0, 1, 0, 3)
}

func checkNormal(t *testing.T, i int, got, u, angle, tolerance float64) {
	t.Helper()
	want := math.Sqrt(-2*math.Log(u)) * math.Cos(angle)
	if i%2 != 0 {
		want = math.Sqrt(-2*math.Log(u)) * math.Sin(angle)
	}
	if !(math.Abs(got-want) <= tolerance) {
		t.Fatalf("number %d is %v, want %v", i, got, want)
	}
}

// checkMoments compares the mean and the central moments 2, 3 and 4.
func checkMoments(t *testing.T, x []float64, mean float64, moments ...float64) {
	t.Helper()
	n := float64(len(x))
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	if d := sum/n - mean; math.Abs(d) > 5/math.Sqrt(n) {
		t.Errorf("the mean is %v, want %v", sum/n, mean)
	}
	for i, want := range moments {
		got := 0.0
		for _, v := range x {
			got += math.Pow(v-mean, float64(i+2)) / n
		}
		limit := 0.1 * want
		if want == 0 {
			limit = 0.1
		}
		if math.Abs(got-want) > limit {
			t.Errorf("central moment %d is %v, want %v", i+2, got, want)
		}
	}
}

func TestFirstArgumentOfLogIsPositive(t *testing.T) {
	a, b := normal32(0, 0)
	c, d := normal32(math.MaxUint32, 0)
	if math.IsInf(float64(a), 0) || a != a || b != b || c != c || d != d {
		t.Errorf("%v %v %v %v", a, b, c, d)
	}
}
