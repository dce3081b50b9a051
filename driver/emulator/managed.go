package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/advice"
)

// The emulator never migrates managed memory. It stores and returns advice and prefetch locations,
// but they have no effect.

var rangeFunctions = functions{
	"cuMemPrefetchAsync":                {cuMemPrefetchAsyncV1, current},
	"cuMemPrefetchAsync_v2":             {cuMemPrefetchAsync, current},
	"cuMemAdvise":                       {cuMemAdviseV1, current},
	"cuMemAdvise_v2":                    {cuMemAdvise, current},
	"cuMemRangeGetAttribute":            {cuMemRangeGetAttribute, current},
	"cuMemRangeGetAttributes":           {cuMemRangeGetAttributes, current},
	"cuMemPrefetchBatchAsync":           {cuMemPrefetchBatchAsync, current},
	"cuMemDiscardBatchAsync":            {cuMemDiscardBatchAsync, current},
	"cuMemDiscardAndPrefetchBatchAsync": {cuMemDiscardAndPrefetchBatchAsync, current},
}

func (a *allocation) advised() *advice.Ranges {
	if a.advice == nil {
		a.advice = advice.New(a.addr, a.size)
	}
	return a.advice
}

// managedAt returns the managed allocation that contains a range. It fails if there is none.
func (e *Emulator) managedAt(addr, size uint64) (*allocation, result) {
	a := e.allocationAt(addr)
	if size == 0 || a == nil || a.kind != managedMemory || a.releasing || size > a.size-(addr-a.addr) {
		return nil, errInvalidValue
	}
	return a, success
}

// locationIn reads a location from argument i. C passes it by value in one word.
func locationIn(c call, i int) cu.CUmemLocation {
	w := c.Uint64(i)
	return cu.CUmemLocation{Type: cu.CUmemLocationType(uint32(w)), Id: int32(w >> 32)}
}

// oldLocation converts a device number to a location. The first versions of these functions take a
// device number. -1 means the host.
func oldLocation(c call, i int) cu.CUmemLocation {
	if dev := c.Int32(i); dev != int32(cu.CU_DEVICE_CPU) {
		return cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE, Id: dev}
	}
	return cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_HOST}
}

// fetchable returns an error if memory cannot be prefetched to the location.
func (e *Emulator) fetchable(l cu.CUmemLocation) result {
	switch l.Type {
	case cu.CU_MEM_LOCATION_TYPE_HOST, cu.CU_MEM_LOCATION_TYPE_HOST_NUMA, cu.CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		return success
	case cu.CU_MEM_LOCATION_TYPE_DEVICE:
		if l.Id < 0 || int(l.Id) >= len(e.devices) {
			return errInvalidDevice
		}
		return success
	}
	return errInvalidValue
}

func cuMemPrefetchAsync(c call) result {
	if c.Uint32(3) != 0 {
		return errInvalidValue
	}
	return prefetch(c, locationIn(c, 2), 4)
}

func cuMemPrefetchAsyncV1(c call) result { return prefetch(c, oldLocation(c, 2), 3) }

func prefetch(c call, to cu.CUmemLocation, streamArg int) result {
	s, r := streamAt(c, streamArg)
	if r != success {
		return r
	}
	a, r := c.e.managedAt(c.Uint64(0), c.Uint64(1))
	if r != success {
		return r
	}
	if r := c.e.fetchable(to); r != success {
		return r
	}
	if r := s.uncapturable(); r != success {
		return r
	}
	a.advised().Prefetch(c.Uint64(0), c.Uint64(1), to)
	return success
}

// uncapturable returns an error if the stream is capturing, and invalidates the capture.
func (s *stream) uncapturable() result {
	if s.cap != nil {
		return s.cap.invalidate(errUnsupported)
	}
	return s.implicitlyCaptured()
}

func cuMemAdvise(c call) result {
	to := locationIn(c, 3)
	if c.usesLocation() && c.e.fetchable(to) != success {
		return errInvalidValue
	}
	return advise(c, to)
}

func cuMemAdviseV1(c call) result {
	to := oldLocation(c, 3)
	if c.usesLocation() {
		if r := c.e.fetchable(to); r != success {
			return r
		}
	}
	return advise(c, to)
}

func (c call) usesLocation() bool {
	switch cu.CUmem_advise(c.Uint32(2)) {
	case cu.CU_MEM_ADVISE_SET_PREFERRED_LOCATION, cu.CU_MEM_ADVISE_SET_ACCESSED_BY, cu.CU_MEM_ADVISE_UNSET_ACCESSED_BY:
		return true
	}
	return false
}

func advise(c call, to cu.CUmemLocation) result {
	kind := cu.CUmem_advise(c.Uint32(2))
	a, r := c.e.managedAt(c.Uint64(0), c.Uint64(1))
	switch {
	case r != success:
		return r
	case kind < cu.CU_MEM_ADVISE_SET_READ_MOSTLY || kind > cu.CU_MEM_ADVISE_UNSET_ACCESSED_BY:
		return errInvalidValue
	case c.accessAdvice() && to.Type != cu.CU_MEM_LOCATION_TYPE_DEVICE && to.Type != cu.CU_MEM_LOCATION_TYPE_HOST:
		return errInvalidValue
	}
	a.advised().Advise(c.Uint64(0), c.Uint64(1), kind, to)
	return success
}

func (c call) accessAdvice() bool {
	kind := cu.CUmem_advise(c.Uint32(2))
	return kind == cu.CU_MEM_ADVISE_SET_ACCESSED_BY || kind == cu.CU_MEM_ADVISE_UNSET_ACCESSED_BY
}

func cuMemRangeGetAttribute(c call) result {
	return rangeAttribute(c, c.Ptr(0), c.Uint64(1), cu.CUmem_range_attribute(c.Uint32(2)), c.Uint64(3), c.Uint64(4))
}

func cuMemRangeGetAttributes(c call) result {
	n := int(c.Word(3))
	data, sizes := list[unsafe.Pointer](c, 0, n), list[uintptr](c, 1, n)
	attrs := list[cu.CUmem_range_attribute](c, 2, n)
	if data == nil || sizes == nil || attrs == nil {
		return errInvalidValue
	}
	for i, attr := range attrs {
		if r := rangeAttribute(c, data[i], uint64(sizes[i]), attr, c.Uint64(4), c.Uint64(5)); r != success {
			return r
		}
	}
	return success
}

// rangeAttribute stores an attribute of a range. Each attribute is one number, except
// CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, which fills the buffer.
func rangeAttribute(c call, out unsafe.Pointer, room uint64, attr cu.CUmem_range_attribute, addr, size uint64) result {
	a, r := c.e.managedAt(addr, size)
	accessed := attr == cu.CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY
	switch {
	case r != success:
		return r
	case out == nil || room == 0 || room%4 != 0 || !accessed && room != 4,
		attr < cu.CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY || attr > cu.CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		return errInvalidValue
	}
	numbers := unsafe.Slice((*int32)(out), room/4)
	if accessed {
		a.advised().AccessedBy(addr, size, numbers)
		return success
	}
	numbers[0] = a.advised().Attribute(addr, size, attr)
	return success
}

// rangeBatch describes the ranges of managed memory in a batch call.
type rangeBatch struct {
	addrs []uint64
	sizes []uintptr
	to    []cu.CUmemLocation // the location of each range
}

// batchAt takes (addresses, sizes, count). Argument streamArg is the stream, which must not be the
// legacy stream. The argument before the stream is the flags.
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

// locate reads arguments 3 to 5: the locations, the index of the first range of each location, and
// the number of locations.
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

// cuMemDiscardBatchAsync keeps the contents, as CUDA permits.
func cuMemDiscardBatchAsync(c call) result {
	_, r := batchAt(c, 4)
	return r
}

func cuMemDiscardAndPrefetchBatchAsync(c call) result { return cuMemPrefetchBatchAsync(c) }
