// Package topk contains the kernels that find the largest elements of rows.
package topk

import "github.com/purecuda/cuda/ptx/gpu"

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

const (
	Threads  = 256
	MostK    = 1024
	each     = 8 // elements that a thread loads at a time
	chunk    = Threads * each
	capacity = 2 * chunk
)

// Limit returns the number of candidates that a block keeps after each chunk.
func Limit(k int) int { return max(512, 2*k) }

// Bits lists the types of elements by their bits.
type Bits interface{ b16 | b32 }

type (
	b16 = uint16
	b32 = uint32
)

// A candidate contains an element in its high half, in a form whose unsigned order is that of the
// elements. The low half is the inverted column. So all candidates are different, and among equal
// elements the first is the largest candidate. No candidate is 0.

// Rows writes the k largest elements of each row and their columns, in descending order. If a row has
// several parts of the given length, a block writes the largest candidates of its part to work instead,
// for Merge. negative and all are like those of a sort: see package radix. wide says that rows and
// parts begin at multiples of 16 bytes.
//
//gpu:kernel block=256 name=topk
//gpu:instance b16 b32
func Rows[B Bits](t gpu.Thread, values, index, src, cols, pitch, k, valuesPitch, indexPitch, work, length uint64, parts, negative, all, wide uint32) {
	row, part := t.BlockX(), 0
	if parts > 1 {
		row, part = int(uint32(t.BlockX())/parts), int(uint32(t.BlockX())%parts)
	}
	n := int(cols)
	x := gpu.ViewAt[B](src, row*int(pitch)+n).Slice()[row*int(pitch):]
	begin := min(part*int(length), n)
	x = x[begin:min(begin+int(length), n)]
	b := newBlock(t, int(k))
	for at := 0; at < len(x); at += chunk {
		if wide != 0 && at+chunk <= len(x) {
			first := at + 4*t.ThreadX()
			v, w := *(*[4]B)(x[first:]), *(*[4]B)(x[first+4*Threads:])
			keys := [each]uint32{
				flip(v[0], negative, all), flip(v[1], negative, all), flip(v[2], negative, all), flip(v[3], negative, all),
				flip(w[0], negative, all), flip(w[1], negative, all), flip(w[2], negative, all), flip(w[3], negative, all),
			}
			if gpu.Any(t, most(keys) >= uint32(b.least>>32)) {
				for i, key := range keys {
					b.add(t, candidateOf(key, begin+first+i/4*4*Threads+i%4), true)
				}
			}
		} else {
			for i := range each {
				var key uint32
				column := at + i*Threads + t.ThreadX()
				have := column < len(x)
				if have {
					key = flip(x[column], negative, all)
				}
				b.add(t, candidateOf(key, begin+column), have)
			}
		}
		b.shrink(t)
	}
	if parts > 1 {
		found := gpu.ViewAt[uint64](work, (t.BlockX()+1)*int(k)).Slice()[t.BlockX()*int(k):]
		b.sort(t)
		for i := t.ThreadX(); i < int(k); i += Threads {
			found[i] = b.kept[i] // 0 if the part has fewer elements
		}
		return
	}
	write[B](t, &b, values, index, row, int(valuesPitch), int(indexPitch), negative, all)
}

func candidateOf(key uint32, column int) uint64 { return uint64(key)<<32 | uint64(^uint32(column)) }

func most(keys [each]uint32) uint32 {
	return max(max(max(keys[0], keys[1]), max(keys[2], keys[3])), max(max(keys[4], keys[5]), max(keys[6], keys[7])))
}

// Merge is like Rows, for the candidates of all parts of a row.
//
//gpu:kernel block=256 name=topk_merge
//gpu:instance b16 b32
func Merge[B Bits](t gpu.Thread, values, index, work, k, valuesPitch, indexPitch uint64, parts, negative, all uint32) {
	row, n := t.BlockX(), int(parts)*int(k)
	x := gpu.ViewAt[uint64](work, (row+1)*n).Slice()[row*n:]
	b := newBlock(t, int(k))
	for at := 0; at < n; at += chunk {
		for i := range each {
			var candidate uint64
			if at := at + i*Threads + t.ThreadX(); at < n {
				candidate = x[at]
			}
			b.add(t, candidate, candidate != 0)
		}
		b.shrink(t)
	}
	write[B](t, &b, values, index, row, int(valuesPitch), int(indexPitch), negative, all)
}

// write writes the results of a row.
func write[B Bits](t gpu.Thread, b *block, values, index uint64, row, valuesPitch, indexPitch int, negative, all uint32) {
	b.sort(t)
	v := gpu.ViewAt[B](values, row*valuesPitch+b.k).Slice()[row*valuesPitch:]
	x := gpu.ViewAt[int64](index, row*indexPitch+b.k).Slice()[row*indexPitch:]
	for i := t.ThreadX(); i < b.k; i += Threads {
		c := b.kept[i]
		v[i], x[i] = flipBack[B](uint32(c>>32), negative, all), int64(^uint32(c))
	}
}

// flip maps elements to numbers whose unsigned order is that of the elements. An element of 16 bits is
// in the high half.
func flip[B Bits](v B, negative, all uint32) uint32 {
	k := uint32(v)
	if _, half := any(v).(uint16); half {
		k <<= 16
	}
	return k ^ uint32(int32(k)>>31)&negative ^ all
}

// flipBack is the inverse of flip.
func flipBack[B Bits](k, negative, all uint32) B {
	k ^= all
	k ^= uint32(int32(k)>>31) & negative
	if _, half := any(B(0)).(uint16); half {
		k >>= 16
	}
	return B(k)
}
