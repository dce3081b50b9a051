package kernelstest

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
)

func TestSort(t *testing.T) {
	each(t, func(k *kit) {
		sorts(k, cmp.Compare[uint32])
		sorts(k, cmp.Compare[int32])
		sorts(k, cmp.Compare[uint64])
		sorts(k, cmp.Compare[int64])
		sorts(k, func(a, b float32) int { return cmp.Compare(total32(a), total32(b)) })
		sorts(k, func(a, b float64) int { return cmp.Compare(total64(a), total64(b)) })
	})
}

// total32 returns a number whose order is the total order of IEEE 754.
func total32(v float32) int32 {
	b := int32(math.Float32bits(v))
	return b ^ b>>31&math.MaxInt32
}

func total64(v float64) int64 {
	b := int64(math.Float64bits(v))
	return b ^ b>>63&math.MaxInt64
}

type pair[K any] struct {
	key   K
	value uint32
}

func sorts[K kernels.Scalar](k *kit, compare func(a, b K) int) {
	k.Helper()
	lengths := []int{0, 1, 2, 33, 4099, 7000}
	if !k.emulated() {
		lengths = append(lengths, large)
	}
	most := lengths[len(lengths)-1]
	work := workspaceOf(k, kernels.SortWorkspace[K](most), kernels.SortPairsWorkspace[K, uint32](most))
	for i, n := range lengths {
		list := make([]pair[K], n)
		keys, values := make([]K, n), make([]uint32, n)
		for j := range keys {
			keys[j], values[j] = special[K](rand.New(rand.NewPCG(uint64(n), uint64(j)))), uint32(j)
			list[j] = pair[K]{keys[j], values[j]}
		}
		descending := i%2 != 0
		slices.SortStableFunc(list, func(a, b pair[K]) int {
			if descending {
				return compare(b.key, a.key)
			}
			return compare(a.key, b.key)
		})
		src, srcValues := device(k, i%3, keys), device(k, i%2, values)
		dst, dstValues := device(k, 1, keys), device(k, 1, values)
		k.do(kernels.Sort(dst, src, descending, work))
		sorted(k, host(k, dst), list, compare)
		k.run(kernels.Fill(dst, 0))
		k.do(kernels.SortPairs(dst, src, dstValues, srcValues, descending, work))
		sorted(k, host(k, dst), list, compare)
		for j, v := range host(k, dstValues) {
			if v != list[j].value {
				k.Fatalf("%d keys of type %T: value %d is %d, want %d", n, K(0), j, v, list[j].value)
			}
		}
		k.do(kernels.SortPairs(src, src, srcValues, srcValues, descending, work)) // in place
		sorted(k, host(k, src), list, compare)
	}
}

// special returns a random key. Some are special, and many are equal.
func special[K kernels.Scalar](r *rand.Rand) K {
	var k K
	switch p := any(&k).(type) {
	case *float32:
		*p = [...]float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), -float32(math.NaN()), float32(r.NormFloat64()), float32(r.IntN(9) - 4)}[r.IntN(8)]
	case *float64:
		*p = [...]float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), -math.NaN(), r.NormFloat64(), float64(r.IntN(9) - 4)}[r.IntN(8)]
	default:
		if k = K(r.Uint64()); r.IntN(2) == 0 {
			k = K(r.IntN(9)) - 4
		}
	}
	return k
}

func sorted[K kernels.Scalar](k *kit, got []K, want []pair[K], compare func(a, b K) int) {
	k.Helper()
	for i, v := range got {
		if compare(v, want[i].key) != 0 {
			k.Fatalf("%d keys of type %T: key %d is %v, want %v", len(got), v, i, v, want[i].key)
		}
	}
}

func TestWrongSorts(t *testing.T) {
	each(t, func(k *kit) {
		b, v := alloc[float32](k, 100), alloc[uint64](k, 100)
		w := workspaceOf(k, kernels.SortPairsWorkspace[float32, uint64](100))
		check := func(dst, src driver.MemoryOf[float32], to, from driver.MemoryOf[uint64], w *kernels.Workspace, words ...string) {
			k.Helper()
			_, err := kernels.SortPairs(dst, src, to, from, false, w)
			k.refused(err, append(words, "sort pairs")...)
		}
		check(b.View(0, 9), b.View(9, 19), v, v, w, "9 elements", "10")
		check(b.View(0, 9), b.View(8, 17), v, v, w, "overlap")
		check(b, b, v.View(0, 9), v.View(0, 9), w, "100 keys", "9 values")
		check(b, b, v, v, nil, "work is nil")
		check(b, b, v, v, workspaceOf(k), "NewWorkspace")
		check(b, b, v, nil, w, "srcValues is nil")
	})
}

// The counts of a tile, its keys and its values use the same shared memory in turn. The emulator finds accesses that no
// barrier separates.
func TestSortsHaveNoRaces(t *testing.T) {
	check := emulator.CheckSharedRaces | emulator.CheckGlobalRaces | emulator.CheckUninitialized | emulator.CheckBarriers
	e := emulator.New(emulator.Config{ComputeCapability: [2]int{9, 0}, Seed: 1, Check: check})
	k := newKit(t, gputest.Context(t, gputest.Driver(t, e)))
	const n = 7000
	r := rand.New(rand.NewPCG(1, 2))
	floats, longs := make([]float32, n), make([]uint64, n)
	for i := range floats {
		floats[i], longs[i] = float32(r.NormFloat64()), r.Uint64()
	}
	x, y := device(k, 0, floats), device(k, 0, longs)
	short, long := device(k, 0, make([]uint32, n)), device(k, 0, make([]uint64, n))
	w := workspaceOf(k, kernels.SortPairsWorkspace[uint64, uint64](n))
	k.do(kernels.Sort(x, x, false, w))
	k.do(kernels.SortPairs(x, x, short, short, true, w))
	k.do(kernels.SortPairs(x, x, long, long, false, w))
	k.do(kernels.Sort(y, y, false, w))
	k.do(kernels.SortPairs(y, y, short, short, true, w))
	k.do(kernels.SortPairs(y, y, long, long, false, w))
	for _, f := range e.Findings() {
		t.Error(f)
	}
}
