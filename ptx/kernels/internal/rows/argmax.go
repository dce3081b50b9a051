package rows

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

// place is the key of an element and its index, or the smallest key and -1 if there is none.
type place[K key] struct {
	key K
	at  int
}

// Argmax finds the index of the largest element of each row: see kernels.ArgmaxRows. Integers and floats of one size
// share a kernel. It has a loop for each, and combines their keys.
func Argmax[T Ordered, K key](t gpu.Thread, r Reduction, half Half, floats bool) {
	none := place[K]{leastKey[K](false), -1}
	reduce[T](t, r, operator[place[K]]{
		none: none,
		find: func(row uint64, n int, end uint64, s stride) place[K] {
			switch {
			case Size[T]() > 2 && !floats:
				return findLargest[T, K, K](row, n, end, s, half)
			case Size[T]() == 8:
				return findLargest[T, float64, K](row, n, end, s, half)
			}
			return findLargest[T, float32, K](row, n, end, s, half)
		},
		with: better[K],
		over: func(p place[K]) place[K] {
			size := uint32(min(t.BlockDimX(), gpu.WarpSize))
			for d := uint32(1); d < size; d *= 2 {
				p = better(p, place[K]{gpu.ShuffleXor(t, p.key, int(d)), gpu.ShuffleXor(t, p.at, int(d))})
			}
			return p
		},
		leave: func(at uint64, p place[K]) {
			leave(at, p.key)
			leave(at+8, p.at)
		},
		fetch:    func(at uint64) place[K] { return place[K]{fetch[K](at), fetch[int](at + 8)} },
		conclude: func(row int, p place[K]) { *value[int](r.Dst + uint64(row*8)) = p.at },
	})
}

// findLargest finds the largest element of a thread. T is compared as V. The pack with the largest element is
// remembered, and where in the pack the element is, is found at the end. Adding 0 changes the sign of -0.
func findLargest[T Ordered, V Comparable, K key](row uint64, n int, end uint64, s stride, half Half) place[K] {
	most, from := least[V](), 0
	var found pack
	var own only
	visit[T](row, n, end, s, func(w *pack, at int, valid only) {
		v := allCompared[V, T](w, half)
		within[T](&v, valid, least[V]())
		m, nan := largest(&v, perPack[T]())
		if nan {
			m = notANumber[V]()
		}
		if !(m <= most) && most == most {
			most, from, found, own = m, at, *w, valid
		}
	})
	if own == 0 { // all elements of the thread have the smallest value
		p := spanOf[T](row, n)
		if s.first >= p.packs {
			return place[K]{leastKey[K](false), -1}
		}
		return place[K]{keyOf[K](most + 0), max(int(p.first+uint64(s.first)*16-row)>>shift[T](), 0)}
	}
	v := allCompared[V, T](&found, half)
	var equal only
	for i := range perPack[T]() {
		if v[i] == most || v[i] != v[i] {
			equal |= 1 << i
		}
	}
	return place[K]{keyOf[K](most + 0), from + bits.TrailingZeros32(uint32(equal&own))}
}

// better returns the place with the larger key, and of equal ones that with the lower index. As an unsigned
// number, -1 is the highest index.
func better[K key](a, b place[K]) place[K] {
	if b.key > a.key || b.key == a.key && uint(b.at) < uint(a.at) {
		return b
	}
	return a
}
