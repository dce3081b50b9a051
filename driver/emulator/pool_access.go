package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// rights returns the rights that flags grant.
func rights(flags cu.CUmemAccess_flags) (read, write bool) {
	write = flags == cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
	return write || flags == cu.CU_MEM_ACCESS_FLAGS_PROT_READ, write
}

// accessFlags is the inverse of rights.
func accessFlags(read, write bool) cu.CUmemAccess_flags {
	switch {
	case write:
		return cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
	case read:
		return cu.CU_MEM_ACCESS_FLAGS_PROT_READ
	}
	return cu.CU_MEM_ACCESS_FLAGS_PROT_NONE
}

// checkAccess checks a request to set the access rights of devices to memory of d. Access by d
// itself cannot be revoked.
func (e *Emulator) checkAccess(d *device, descs []cu.CUmemAccessDesc) result {
	for i, a := range descs {
		if r := e.checkAccessors(descs[i : i+1]); r != success {
			return r
		}
		if int(a.Location.Id) == d.ordinal && a.Flags != cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE {
			return errInvalidValue
		}
	}
	return success
}

// checkAccessors checks that all locations are devices that exist.
func (e *Emulator) checkAccessors(descs []cu.CUmemAccessDesc) result {
	for _, a := range descs {
		switch {
		case a.Location.Type != cu.CU_MEM_LOCATION_TYPE_DEVICE:
			return errInvalidValue
		case a.Location.Id < 0 || int(a.Location.Id) >= len(e.devices):
			return errInvalidDevice
		}
	}
	return success
}

func setAccess(r *vm.Reach, descs []cu.CUmemAccessDesc) {
	for _, a := range descs {
		read, write := rights(a.Flags)
		r.Set(int(a.Location.Id), read, write)
	}
}

// accessDescs returns the list of descriptions in a node's parameters.
func accessDescs(p *cu.CUmemAccessDesc, n uintptr) []cu.CUmemAccessDesc {
	if p == nil {
		return nil
	}
	return unsafe.Slice(p, n)
}

// descs returns what other devices may do with the pool's memory.
func (p *pool) descs(e *Emulator) (list []cu.CUmemAccessDesc) {
	for i := range e.devices {
		flags := accessFlags(p.reach.May(i))
		if i == p.dev.ordinal || flags == cu.CU_MEM_ACCESS_FLAGS_PROT_NONE {
			continue
		}
		loc := cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE, Id: int32(i)}
		list = append(list, cu.CUmemAccessDesc{Location: loc, Flags: flags})
	}
	return list
}
