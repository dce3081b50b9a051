package cases

import (
	"math/bits"
	"slices"
	"sort"

	"github.com/purecuda/cuda/driver"
)

func histogram(m *Memory, n int) *Work {
	r := source(n)
	words := make([]uint32, n)
	for i := range words {
		words[i] = r.Uint32()
	}
	counts, in := Out(m, make([]uint32, 256)), In(m, words)
	return &Work{
		Grid: driver.D1(min(1056, (n+255)/256)), Block: driver.D1(256),
		Args: []any{counts, in}, CUDA: []any{counts.Ptr(), in.Ptr(), int32(n)},
		Bytes: 4 * float64(n), Operations: 4 * float64(n),
		Want: func() []any {
			w := make([]uint32, 256)
			for _, v := range words {
				for range 4 {
					w[v&255]++
					v >>= 8
				}
			}
			return []any{w}
		},
	}
}

func bitonicSort(m *Memory, n int) *Work {
	r := source(n)
	keys := make([]uint32, n)
	for i := range keys {
		keys[i] = r.Uint32()
	}
	sorted, in := Out(m, make([]uint32, n)), In(m, keys)
	return &Work{
		Grid: driver.Blocks(n, 1024), Block: driver.D1(512),
		Args: []any{sorted, in}, CUDA: []any{sorted.Ptr(), in.Ptr(), int32(n)},
		Bytes: 8 * float64(n), Operations: 55 * float64(n) / 2,
		Want: func() []any {
			w := slices.Clone(keys)
			for part := range slices.Chunk(w, 1024) {
				slices.Sort(part)
			}
			return []any{w}
		},
	}
}

func scan(m *Memory, n int) *Work {
	x := between[int32](source(n), n, -1000, 1000)
	sums, in := Out(m, make([]int32, n)), In(m, x)
	return &Work{
		Grid: driver.Blocks(n, 1024), Block: driver.D1(256),
		Args: []any{sums, in}, CUDA: []any{sums.Ptr(), in.Ptr(), int32(n)},
		Bytes: 8 * float64(n), Operations: float64(n),
		Want: func() []any {
			w := slices.Clone(x)
			for part := range slices.Chunk(w, 1024) {
				for i := range part[1:] {
					part[i+1] += part[i]
				}
			}
			return []any{w}
		},
	}
}

// search looks up n values in 4n keys.
func search(m *Memory, n int) *Work {
	r := source(n)
	keys, values := make([]uint32, 4*n), make([]uint32, n)
	for i := range keys {
		keys[i] = r.Uint32()
	}
	for i := range values {
		values[i] = r.Uint32()
	}
	slices.Sort(keys)
	copy(values, []uint32{keys[0], keys[len(keys)-1]})
	ranks, v, k := Out(m, make([]int32, n)), In(m, values), In(m, keys)
	half := int32(1) << (bits.Len(uint(len(keys))) - 1)
	return &Work{
		Grid: driver.Blocks(n, 256), Block: driver.D1(256),
		Args: []any{ranks, v, k, half}, CUDA: []any{ranks.Ptr(), v.Ptr(), k.Ptr(), int32(n), int32(len(keys)), half},
		Bytes: 8*float64(n) + 4*float64(len(keys)), Operations: float64(n) * float64(bits.Len(uint(len(keys)))),
		Want: func() []any {
			w := make([]int32, n)
			for i, v := range values {
				w[i] = int32(sort.Search(len(keys), func(j int) bool { return keys[j] > v }))
			}
			return []any{w}
		},
	}
}
