package emulator

import "github.com/purecuda/cuda/driver/cu"

// rangeBatch is the pieces of managed memory that a batch is about.
type rangeBatch struct {
	addrs []uint64
	sizes []uintptr
	to    []cu.CUmemLocation // of each
}

// batchAt reads (addresses, sizes, count). streamArg is the stream, which must not be the legacy
// stream. The argument before it is the flags.
func batchAt(c call, streamArg int) (rangeBatch, result) {
	n := int(c.Word(2))
	b := rangeBatch{addrs: list[uint64](c, 0, n), sizes: list[uintptr](c, 1, n)}
	s, r := streamAt(c, streamArg)
	switch {
	case r != success:
		return b, r
	case b.addrs == nil || b.sizes == nil || c.Uint64(streamArg-1) != 0 || s.isLegacy():
		return b, errInvalidValue
	}
	for i, addr := range b.addrs {
		if _, r := c.e.managedAt(addr, uint64(b.sizes[i])); r != success {
			return b, r
		}
	}
	return b, s.uncapturable()
}

// locate reads (locations, first range of each location, number of locations) from argument 3 on.
func (b *rangeBatch) locate(c call) result {
	n := int(c.Word(5))
	locs, from := list[cu.CUmemLocation](c, 3, n), list[uintptr](c, 4, n)
	if locs == nil || from == nil || from[0] != 0 || n > len(b.addrs) {
		return errInvalidValue
	}
	b.to = make([]cu.CUmemLocation, len(b.addrs))
	for i, loc := range locs {
		if r := c.e.fetchable(loc); r != success {
			return r
		}
		if from[i] >= uintptr(len(b.to)) || i > 0 && from[i] <= from[i-1] {
			return errInvalidValue
		}
		for j := from[i]; j < uintptr(len(b.to)); j++ {
			b.to[j] = loc
		}
	}
	return success
}

func cuMemPrefetchBatchAsync(c call) result {
	b, r := batchAt(c, 7)
	if r != success {
		return r
	}
	if r := b.locate(c); r != success {
		return r
	}
	for i, addr := range b.addrs {
		c.e.allocationAt(addr).advised().Prefetch(addr, uint64(b.sizes[i]), b.to[i])
	}
	return success
}

// cuMemDiscardBatchAsync may discard the contents, but need not. Here it keeps them.
func cuMemDiscardBatchAsync(c call) result {
	_, r := batchAt(c, 4)
	return r
}

func cuMemDiscardAndPrefetchBatchAsync(c call) result { return cuMemPrefetchBatchAsync(c) }
