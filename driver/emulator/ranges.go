package emulator

import (
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// Managed memory does not move here. Advice and prefetch locations are stored and returned, but
// have no effect.

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

// advised is what is known about a part of managed memory, from an address to that of the next
// part.
type advised struct {
	from      uint64
	mostly    bool
	preferred cu.CUmemLocation // zero: none
	fetched   cu.CUmemLocation
	devices   uint64 // a bit for each device with SET_ACCESSED_BY
	host      bool   // the host with SET_ACCESSED_BY
}

// parts returns the parts of the allocation that overlap a range. It splits parts so that the range
// consists of whole parts.
func (a *allocation) parts(addr, size uint64) []advised {
	if a.advice == nil {
		a.advice = []advised{{from: a.addr}}
	}
	first := a.split(addr)
	end := a.split(addr + size) // which may move the list
	return a.advice[first:end]
}

// split makes a part begin at an address and returns its index.
func (a *allocation) split(addr uint64) int {
	i, ok := slices.BinarySearchFunc(a.advice, addr, func(p advised, at uint64) int { return int(int64(p.from - at)) })
	if !ok && addr < a.addr+a.size {
		next := a.advice[i-1]
		next.from = addr
		a.advice = slices.Insert(a.advice, i, next)
	}
	return i
}

// managedAt returns the managed memory that contains a range.
func (e *Emulator) managedAt(addr, size uint64) (*allocation, result) {
	a := e.allocationAt(addr)
	if size == 0 || a == nil || a.kind != managedMemory || a.releasing || size > a.size-(addr-a.addr) {
		return nil, errInvalidValue
	}
	return a, success
}

// locationIn reads a location that C passes by value in one word.
func locationIn(c call, i int) cu.CUmemLocation {
	w := c.Uint64(i)
	return cu.CUmemLocation{Type: cu.CUmemLocationType(uint32(w)), Id: int32(w >> 32)}
}

// oldLocation converts the device number that the first versions of the functions took to a
// location. -1 means the host.
func oldLocation(c call, i int) cu.CUmemLocation {
	if dev := c.Int32(i); dev != int32(cu.CU_DEVICE_CPU) {
		return cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE, Id: dev}
	}
	return cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_HOST}
}

// fetchable checks that memory can be prefetched to a location.
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
	a.fetch(c.Uint64(0), c.Uint64(1), to)
	return success
}

// uncapturable fails if the stream is capturing, and invalidates the capture.
func (s *stream) uncapturable() result {
	if s.cap != nil {
		return s.cap.invalidate(errUnsupported)
	}
	return s.implicitlyCaptured()
}

func (a *allocation) fetch(addr, size uint64, to cu.CUmemLocation) {
	parts := a.parts(addr, size)
	for i := range parts {
		parts[i].fetched = to
	}
}

func cuMemAdvise(c call) result {
	to := locationIn(c, 3)
	if c.advisesPlace() && c.e.fetchable(to) != success {
		return errInvalidValue
	}
	return advise(c, to)
}

func cuMemAdviseV1(c call) result {
	to := oldLocation(c, 3)
	if c.advisesPlace() {
		if r := c.e.fetchable(to); r != success {
			return r
		}
	}
	return advise(c, to)
}

// advisesPlace reports whether the advice uses its location.
func (c call) advisesPlace() bool {
	switch cu.CUmem_advise(c.Uint32(2)) {
	case cu.CU_MEM_ADVISE_SET_PREFERRED_LOCATION, cu.CU_MEM_ADVISE_SET_ACCESSED_BY, cu.CU_MEM_ADVISE_UNSET_ACCESSED_BY:
		return true
	}
	return false
}

func advise(c call, to cu.CUmemLocation) result {
	advice := cu.CUmem_advise(c.Uint32(2))
	a, r := c.e.managedAt(c.Uint64(0), c.Uint64(1))
	switch {
	case r != success:
		return r
	case advice < cu.CU_MEM_ADVISE_SET_READ_MOSTLY || advice > cu.CU_MEM_ADVISE_UNSET_ACCESSED_BY:
		return errInvalidValue
	case c.accessAdvice() && to.Type != cu.CU_MEM_LOCATION_TYPE_DEVICE && to.Type != cu.CU_MEM_LOCATION_TYPE_HOST:
		return errInvalidValue
	}
	parts := a.parts(c.Uint64(0), c.Uint64(1))
	for i := range parts {
		parts[i].take(advice, to)
	}
	return success
}

func (c call) accessAdvice() bool {
	advice := cu.CUmem_advise(c.Uint32(2))
	return advice == cu.CU_MEM_ADVISE_SET_ACCESSED_BY || advice == cu.CU_MEM_ADVISE_UNSET_ACCESSED_BY
}

// take stores one piece of advice.
func (p *advised) take(advice cu.CUmem_advise, to cu.CUmemLocation) {
	switch advice {
	case cu.CU_MEM_ADVISE_SET_READ_MOSTLY, cu.CU_MEM_ADVISE_UNSET_READ_MOSTLY:
		p.mostly = advice == cu.CU_MEM_ADVISE_SET_READ_MOSTLY
	case cu.CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
		p.preferred = to
	case cu.CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
		p.preferred = cu.CUmemLocation{}
	default:
		p.accessedBy(to, advice == cu.CU_MEM_ADVISE_SET_ACCESSED_BY)
	}
}

func (p *advised) accessedBy(to cu.CUmemLocation, on bool) {
	switch {
	case to.Type == cu.CU_MEM_LOCATION_TYPE_HOST:
		p.host = on
	case on:
		p.devices |= 1 << to.Id
	default:
		p.devices &^= 1 << to.Id
	}
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

// rangeAttribute stores an attribute of a range. That is one number, except for
// CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, which has as many as there is room for.
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
	parts := a.parts(addr, size)
	numbers := unsafe.Slice((*int32)(out), room/4)
	if accessed {
		accessors(numbers, parts)
		return success
	}
	numbers[0] = common(parts, attr)
	return success
}

// noPlace is the value for no location, or for more than one.
const noPlace = int32(cu.CU_DEVICE_INVALID)

// common returns the attribute if all parts agree, and otherwise the value for parts that differ.
func common(parts []advised, attr cu.CUmem_range_attribute) int32 {
	v := parts[0].attribute(attr)
	for i := range parts {
		if parts[i].attribute(attr) != v {
			return (&advised{}).attribute(attr)
		}
	}
	return v
}

func (p *advised) attribute(attr cu.CUmem_range_attribute) int32 {
	switch attr {
	case cu.CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		return flag(p.mostly)
	case cu.CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
		return int32(p.preferred.Type)
	case cu.CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		return int32(p.fetched.Type)
	case cu.CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, cu.CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		return placeNumber(p.preferred)
	}
	return placeNumber(p.fetched)
}

// placeNumber returns a location as the number that the attributes use.
func placeNumber(l cu.CUmemLocation) int32 {
	switch l.Type {
	case cu.CU_MEM_LOCATION_TYPE_INVALID:
		return noPlace
	case cu.CU_MEM_LOCATION_TYPE_HOST:
		return int32(cu.CU_DEVICE_CPU)
	}
	return l.Id
}

// accessors lists the accessors common to all parts, and fills the rest of the array.
func accessors(out []int32, parts []advised) {
	all := parts[0]
	for _, p := range parts {
		all.devices &= p.devices
		all.host = all.host && p.host
	}
	var who []int32
	for dev := range int32(64) {
		if all.devices>>dev&1 != 0 {
			who = append(who, dev)
		}
	}
	if all.host {
		who = append(who, int32(cu.CU_DEVICE_CPU))
	}
	for i := copy(out, who); i < len(out); i++ {
		out[i] = noPlace
	}
}
