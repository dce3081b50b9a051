package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// Settings for core dumps are stored and returned, but no core dump is written.

// coredump holds the core dump settings of the process, or of a context.
type coredump struct {
	switches map[cu.CUcoredumpSettings]byte
	flags    uint32
	names    map[cu.CUcoredumpSettings]string
}

func newCoredump() coredump {
	return coredump{
		switches: make(map[cu.CUcoredumpSettings]byte),
		names:    make(map[cu.CUcoredumpSettings]string),
	}
}

// coredumpName is the maximum length of a file name in bytes, with its NUL.
const coredumpName = 1024

var coredumpFunctions = functions{
	"cuCoredumpGetAttribute":       {cuCoredumpGetAttribute, current},
	"cuCoredumpSetAttribute":       {cuCoredumpSetAttribute, current},
	"cuCoredumpGetAttributeGlobal": {cuCoredumpGetAttributeGlobal, afterInit},
	"cuCoredumpSetAttributeGlobal": {cuCoredumpSetAttributeGlobal, afterInit},
}

func cuCoredumpGetAttributeGlobal(c call) result { return c.e.coredump.get(c) }
func cuCoredumpSetAttributeGlobal(c call) result { return c.e.coredump.set(c) }

func cuCoredumpGetAttribute(c call) result {
	if !ofContext(c) {
		return errInvalidValue
	}
	return c.ctx.coredump.get(c)
}

// cuCoredumpSetAttribute: the flags can only be set for the process.
func cuCoredumpSetAttribute(c call) result {
	if !ofContext(c) || cu.CUcoredumpSettings(c.Uint32(0)) == cu.CU_COREDUMP_GENERATION_FLAGS {
		return errInvalidValue
	}
	return c.ctx.coredump.set(c)
}

// ofContext reports whether the attribute of argument 0 can be set for a context.
func ofContext(c call) bool {
	switch cu.CUcoredumpSettings(c.Uint32(0)) {
	case cu.CU_COREDUMP_ENABLE_USER_TRIGGER, cu.CU_COREDUMP_PIPE:
		return false
	}
	return true
}

// coredumpSize returns the size of an attribute's value, or 0 for an unknown attribute.
func coredumpSize(a cu.CUcoredumpSettings) uintptr {
	switch a {
	case cu.CU_COREDUMP_ENABLE_ON_EXCEPTION, cu.CU_COREDUMP_TRIGGER_HOST,
		cu.CU_COREDUMP_LIGHTWEIGHT, cu.CU_COREDUMP_ENABLE_USER_TRIGGER:
		return 1
	case cu.CU_COREDUMP_GENERATION_FLAGS:
		return 4
	case cu.CU_COREDUMP_FILE, cu.CU_COREDUMP_PIPE:
		return coredumpName
	}
	return 0
}

// get takes (attribute, value, size). Without a buffer for the value, it stores the value's size.
func (d *coredump) get(c call) result {
	a, size := cu.CUcoredumpSettings(c.Uint32(0)), at[uintptr](c, 2)
	want := coredumpSize(a)
	switch {
	case want == 0 || size == nil:
		return errInvalidValue
	case c.Ptr(1) == nil:
		*size = want
		return success
	case want == coredumpName:
		out := unsafe.Slice((*byte)(c.Ptr(1)), *size)
		clear(out[copy(out, d.names[a]):])
		return success
	case *size != want:
		return errInvalidValue
	case want == 4:
		*at[uint32](c, 1) = d.flags
		return success
	}
	*at[byte](c, 1) = d.switches[a]
	return success
}

// set takes (attribute, value, size). Without a value, it changes nothing.
func (d *coredump) set(c call) result {
	a, size := cu.CUcoredumpSettings(c.Uint32(0)), at[uintptr](c, 2)
	want := coredumpSize(a)
	switch {
	case want == 0 || size == nil:
		return errInvalidValue
	case c.Ptr(1) == nil:
		return success
	case want == coredumpName && *size <= coredumpName:
		d.names[a] = string(unsafe.Slice((*byte)(c.Ptr(1)), *size))
		return success
	case *size != want:
		return errInvalidValue
	case want == 4:
		d.flags = *at[uint32](c, 1)
		return success
	}
	d.switches[a] = *at[byte](c, 1)
	return success
}
