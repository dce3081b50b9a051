package rows

import "github.com/purecuda/cuda/ptx/gpu"

// place is a value and its index, or -1 if there is none.
type place[V Comparable] struct {
	v  V
	at int
}

// Argmax finds the index of the largest element of each row: see kernels.ArgmaxRows. T is compared as
// V.
func Argmax[T Element, V Comparable](t gpu.Thread, r Reduction, half Half) {
	reduce[T](t, r, operator[place[V]]{
		none: place[V]{least[V](), -1},
		find: func(row uint64, n int, end uint64, s stride) place[V] {
			found := place[V]{least[V](), -1}
			visit[T](row, n, end, s, func(w *pack, at int, own only) {
				v := allCompared[V, T](w, half)
				within[T](&v, own, least[V]())
				found.take(&v, perPack[T](), at)
			})
			return found
		},
		with: better[V],
		over: func(p place[V]) place[V] {
			size := uint32(min(t.BlockDimX(), gpu.WarpSize))
			for d := uint32(1); d < size; d *= 2 {
				p = better(p, place[V]{gpu.ShuffleXor(t, p.v, int(d)), gpu.ShuffleXor(t, p.at, int(d))})
			}
			return p
		},
		leave: func(at uint64, p place[V]) {
			leave(at, p.v)
			leave(at+8, p.at)
		},
		fetch:    func(at uint64) place[V] { return place[V]{fetch[V](at), fetch[int](at + 8)} },
		conclude: func(row int, p place[V]) { *value[int](r.Dst + uint64(row*8)) = p.at },
	})
}

// take takes the first of the largest of size elements at higher indices. The first element has index at,
// which is negative if elements before the row were replaced by the smallest value. If an element of the
// row is not larger, it is the one at index 0.
func (p *place[V]) take(v *[8]V, size, at int) {
	most, nan := largest(v, size)
	if nan {
		most = notANumber[V]()
	}
	if p.at >= 0 && !(most > p.v) && !(nan && p.v == p.v) {
		return
	}
	first := 0
	for i := size - 1; i >= 0; i-- {
		if v[i] == most || v[i] != v[i] {
			first = i
		}
	}
	p.v, p.at = most, max(at+first, 0)
}

// better returns the larger value, and of equal ones that with the lower index. A NaN is larger than
// all numbers.
func better[V Comparable](a, b place[V]) place[V] {
	aNaN, bNaN := a.v != a.v, b.v != b.v
	larger := b.v > a.v || bNaN && !aNaN
	equal := a.v == b.v || aNaN && bNaN
	// As an unsigned number, -1 is the highest index.
	if uint(a.at) == 1<<64-1 || uint(b.at) != 1<<64-1 && (larger || equal && uint(b.at) < uint(a.at)) {
		return b
	}
	return a
}
