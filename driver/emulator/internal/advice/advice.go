// Package advice stores the advice that a program gave for each range of managed memory, and the
// location to which the program last prefetched the range.
package advice

import (
	"slices"

	"github.com/purecuda/cuda/driver/cu"
)

// Ranges stores the advice and the last prefetch for every range in one allocation.
type Ranges struct {
	parts []part
	end   uint64
}

// New returns the Ranges of an allocation that has no advice.
func New(addr, size uint64) *Ranges { return &Ranges{[]part{{from: addr}}, addr + size} }

// part is a range of managed memory with uniform advice. It extends from its address to the next
// part's address.
type part struct {
	from      uint64
	mostly    bool
	preferred cu.CUmemLocation // zero if there is none
	fetched   cu.CUmemLocation
	devices   uint64 // bit i is set if SET_ACCESSED_BY is set for device i
	host      bool   // whether SET_ACCESSED_BY is set for the host
}

// within returns the parts that cover a range. It first splits the parts that extend beyond the
// range.
func (r *Ranges) within(addr, size uint64) []part {
	first := r.split(addr)
	end := r.split(addr + size) // split may reallocate r.parts
	return r.parts[first:end]
}

// split ensures that a part begins at addr. It returns the index of that part.
func (r *Ranges) split(addr uint64) int {
	i, ok := slices.BinarySearchFunc(r.parts, addr, func(p part, at uint64) int { return int(int64(p.from - at)) })
	if !ok && addr < r.end {
		next := r.parts[i-1]
		next.from = addr
		r.parts = slices.Insert(r.parts, i, next)
	}
	return i
}

// Prefetch records the location to which a range was prefetched.
func (r *Ranges) Prefetch(addr, size uint64, to cu.CUmemLocation) {
	parts := r.within(addr, size)
	for i := range parts {
		parts[i].fetched = to
	}
}

// Advise applies one piece of advice to a range.
func (r *Ranges) Advise(addr, size uint64, advice cu.CUmem_advise, to cu.CUmemLocation) {
	parts := r.within(addr, size)
	for i := range parts {
		parts[i].take(advice, to)
	}
}

// Attribute returns the value of an integer attribute of a range.
func (r *Ranges) Attribute(addr, size uint64, attr cu.CUmem_range_attribute) int32 {
	return common(r.within(addr, size), attr)
}

// AccessedBy stores the devices that access a range in out. It fills unused elements with
// CU_DEVICE_INVALID.
func (r *Ranges) AccessedBy(addr, size uint64, out []int32) {
	accessors(out, r.within(addr, size))
}

func (p *part) take(advice cu.CUmem_advise, to cu.CUmemLocation) {
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

func (p *part) accessedBy(to cu.CUmemLocation, on bool) {
	switch {
	case to.Type == cu.CU_MEM_LOCATION_TYPE_HOST:
		p.host = on
	case on:
		p.devices |= 1 << to.Id
	default:
		p.devices &^= 1 << to.Id
	}
}

// noPlace stands for no location, or for several different ones.
const noPlace = int32(cu.CU_DEVICE_INVALID)

// common returns the attribute's value if it is the same in all parts. Otherwise it returns the
// attribute's default value.
func common(parts []part, attr cu.CUmem_range_attribute) int32 {
	v := parts[0].attribute(attr)
	for i := range parts {
		if parts[i].attribute(attr) != v {
			return (&part{}).attribute(attr)
		}
	}
	return v
}

func (p *part) attribute(attr cu.CUmem_range_attribute) int32 {
	switch attr {
	case cu.CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		if p.mostly {
			return 1
		}
		return 0
	case cu.CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
		return int32(p.preferred.Type)
	case cu.CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		return int32(p.fetched.Type)
	case cu.CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, cu.CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		return placeNumber(p.preferred)
	}
	return placeNumber(p.fetched)
}

func placeNumber(l cu.CUmemLocation) int32 {
	switch l.Type {
	case cu.CU_MEM_LOCATION_TYPE_INVALID:
		return noPlace
	case cu.CU_MEM_LOCATION_TYPE_HOST:
		return int32(cu.CU_DEVICE_CPU)
	}
	return l.Id
}

func accessors(out []int32, parts []part) {
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
