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
		find: func(row uint64, n int, s stride) place[V] {
			// The pack with the largest element is remembered. Where in the pack it is, is found at the
			// end, when the pack is loaded again.
			single, packed := place[V]{least[V](), -1}, place[V]{least[V](), -1}
			visit[T](row, n, s, func(address uint64, at int) {
				x := compared[V](*value[T](address), half)
				single.take(x, x != x, at)
			}, func(w *pack, at int) {
				most, nan := largest(allCompared[V, T](w, half), perPack[T]())
				packed.take(most, nan, at)
			})
			if packed.at >= 0 {
				w := *words(row + uint64(packed.at*Size[T]()))
				v := allCompared[V, T](&w, half)
				first := 0
				for i := perPack[T]() - 1; i >= 0; i-- {
					if v[i] == packed.v || v[i] != v[i] {
						first = i
					}
				}
				packed.at += first
			}
			return better(single, packed)
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

// take takes the largest element of a pack at a higher index. nan is set if the pack has a NaN.
func (p *place[V]) take(v V, nan bool, at int) {
	if nan {
		v = notANumber[V]()
	}
	if p.at < 0 || v > p.v || nan && p.v == p.v {
		p.v, p.at = v, at
	}
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
