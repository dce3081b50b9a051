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

// The bits of the flags of the kernels.
const (
	Half  = 1 << iota // elements have 2 bytes instead of 4
	Wide              // rows and parts begin at multiples of 16 bytes
	Merge             // the elements are candidates of all parts of a row, without gaps, at work
)

// A candidate contains an element in its high half, in a form whose unsigned order is that of the
// elements. The low half is the inverted column. So all candidates are different, and among equal
// elements the first is the largest candidate. No candidate is 0.

// Rows writes the k largest elements of each row and their columns, in descending order. If a row has
// several parts of the given length, a block writes the largest candidates of its part to work instead,
// for a launch with Merge. negative and all are like those of a sort: see package radix.
//
//gpu:kernel block=256 minblocks=4 name=topk
func Rows(t gpu.Thread, values, index, src, cols, pitch, k, valuesPitch, indexPitch, work, length uint64, parts, negative, all, flags uint32) {
	row, part := t.BlockX(), 0
	if parts > 1 {
		row, part = int(uint32(t.BlockX())/parts), int(uint32(t.BlockX())%parts)
	}
	n := int(cols)
	begin := min(part*int(length), n)
	end := min(begin+int(length), n)
	o := order{negative, all, flags&Half != 0}
	x := src + uint64(row*int(pitch))<<o.log()
	b := newBlock(t, int(k))
	for at := begin; at < end; at += chunk {
		if flags&Merge != 0 {
			b.addFrom(t, gpu.ViewAt[uint64](work, (row+1)*n).Slice()[row*n:], at, end)
		} else {
			b.addElements(t, o, x, at, end, flags)
		}
		b.shrink(t)
	}
	b.sort(t)
	if parts > 1 {
		found := gpu.ViewAt[uint64](work, (t.BlockX()+1)*int(k)).Slice()[t.BlockX()*int(k):]
		//gpu:unroll 1
		for i := t.ThreadX(); i < int(k); i += Threads {
			found[i] = b.kept[i] // 0 if the part has fewer elements
		}
		return
	}
	write(t, &b, o, values, index, row, int(valuesPitch), int(indexPitch))
}

// addElements adds the elements of a row from at on, but not more than end.
func (b *block) addElements(t gpu.Thread, o order, x uint64, at, end int, flags uint32) {
	tid := t.ThreadX()
	whole := flags&Wide != 0 && at+chunk <= end
	var keys [each]uint32
	if whole {
		first := at + 4*tid
		if o.half {
			loadWhole(gpu.ViewAt[uint16](x, end).Slice()[first:], &keys)
		} else {
			loadWhole(gpu.ViewAt[uint32](x, end).Slice()[first:], &keys)
		}
	} else {
		if o.half {
			loadSome(gpu.ViewAt[uint16](x, end).Slice(), at+tid, &keys)
		} else {
			loadSome(gpu.ViewAt[uint32](x, end).Slice(), at+tid, &keys)
		}
	}
	for i := range keys {
		keys[i] = o.flip(keys[i])
	}
	if gpu.Any(t, most(&keys) >= uint32(b.least>>32)) {
		//gpu:unroll 1
		for i := range each {
			column := at + i*Threads + tid
			if whole {
				column = at + 4*tid + i/4*4*Threads + i%4
			}
			b.add(t, candidateOf(keys[0], column), column < end)
			dropFirst(&keys)
		}
	}
}

// loadWhole loads four elements at the beginning of x, and four that are 4*Threads elements further.
func loadWhole[B uint16 | uint32](x []B, keys *[each]uint32) {
	v, w := *(*[4]B)(x), *(*[4]B)(x[4*Threads:])
	for i := range v {
		keys[i], keys[4+i] = raised(v[i]), raised(w[i])
	}
}

// loadSome loads elements at distances of Threads, as far as there are so many.
func loadSome[B uint16 | uint32](x []B, first int, keys *[each]uint32) {
	rest := x[min(first, len(x)):]
	for i := range keys {
		if at := i * Threads; at < len(rest) {
			keys[i] = raised(rest[at])
		}
	}
}

// raised moves an element of 2 bytes to the high half.
func raised[B uint16 | uint32](v B) uint32 {
	if v, half := any(v).(uint16); half {
		return uint32(v) << 16
	}
	return uint32(v)
}

func candidateOf(key uint32, column int) uint64 { return uint64(key)<<32 | uint64(^uint32(column)) }

func most(keys *[each]uint32) uint32 {
	return max(max(max(keys[0], keys[1]), max(keys[2], keys[3])), max(max(keys[4], keys[5]), max(keys[6], keys[7])))
}

// dropFirst moves the elements to the front. A loop that always takes the first one needs no index, which
// registers do not have, so it can be short.
func dropFirst[T uint32 | uint64](x *[each]T) {
	for i := range each - 1 {
		x[i] = x[i+1]
	}
}

// write writes the results of a row.
func write(t gpu.Thread, b *block, o order, values, index uint64, row, valuesPitch, indexPitch int) {
	v := values + uint64(row*valuesPitch)<<o.log()
	x := gpu.ViewAt[int64](index, row*indexPitch+b.k).Slice()[row*indexPitch:]
	//gpu:unroll 1
	for i := t.ThreadX(); i < b.k; i += Threads {
		c := b.kept[i]
		x[i] = int64(^uint32(c))
		if key := o.flipBack(uint32(c >> 32)); o.half {
			gpu.ViewAt[uint16](v, b.k).Set(i, uint16(key>>16))
		} else {
			gpu.ViewAt[uint32](v, b.k).Set(i, key)
		}
	}
}

// order maps elements to numbers whose unsigned order is that of the elements. An element of 2 bytes is
// in the high half.
type order struct {
	negative, all uint32
	half          bool
}

// log returns the binary logarithm of the size of elements.
func (o order) log() int {
	if o.half {
		return 1
	}
	return 2
}

func (o order) flip(k uint32) uint32 { return o.flipNegative(k) ^ o.all }

// flipBack is the inverse of flip.
func (o order) flipBack(k uint32) uint32 {
	return o.flipNegative(k ^ o.all)
}

// flipNegative inverts bits of k if the sign bit is set.
func (o order) flipNegative(k uint32) uint32 {
	const table = 0x78 // of a ^ b&c
	return gpu.Lop3(k, uint32(int32(k)>>31), o.negative, table)
}
