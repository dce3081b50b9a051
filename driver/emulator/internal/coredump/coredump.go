// Package coredump stores a program's settings for GPU core dumps. The emulator never writes a core
// dump.
package coredump

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// Settings holds the core dump settings of the process or of one context.
type Settings struct {
	switches map[cu.CUcoredumpSettings]byte
	flags    uint32
	names    map[cu.CUcoredumpSettings]string
}

// New returns empty settings.
func New() *Settings {
	return &Settings{
		switches: make(map[cu.CUcoredumpSettings]byte),
		names:    make(map[cu.CUcoredumpSettings]string),
	}
}

// nameSize is the maximum length of a file name in bytes, including its NUL.
const nameSize = 1024

// sizeOf returns the size of an attribute's value in bytes, or 0 for an unknown attribute.
func sizeOf(a cu.CUcoredumpSettings) uintptr {
	switch a {
	case cu.CU_COREDUMP_ENABLE_ON_EXCEPTION, cu.CU_COREDUMP_TRIGGER_HOST,
		cu.CU_COREDUMP_LIGHTWEIGHT, cu.CU_COREDUMP_ENABLE_USER_TRIGGER:
		return 1
	case cu.CU_COREDUMP_GENERATION_FLAGS:
		return 4
	case cu.CU_COREDUMP_FILE, cu.CU_COREDUMP_PIPE:
		return nameSize
	}
	return 0
}

// Get stores a setting in *value. If value is nil, Get stores the size of the setting in *size.
func (d *Settings) Get(a cu.CUcoredumpSettings, value unsafe.Pointer, size *uintptr) cu.CUresult {
	want := sizeOf(a)
	switch {
	case want == 0 || size == nil:
		return cu.CUDA_ERROR_INVALID_VALUE
	case value == nil:
		*size = want
		return cu.CUDA_SUCCESS
	case want == nameSize:
		out := unsafe.Slice((*byte)(value), *size)
		clear(out[copy(out, d.names[a]):])
		return cu.CUDA_SUCCESS
	case *size != want:
		return cu.CUDA_ERROR_INVALID_VALUE
	case want == 4:
		*(*uint32)(value) = d.flags
		return cu.CUDA_SUCCESS
	}
	*(*byte)(value) = d.switches[a]
	return cu.CUDA_SUCCESS
}

// Set changes a setting. If value is nil, Set changes nothing.
func (d *Settings) Set(a cu.CUcoredumpSettings, value unsafe.Pointer, size *uintptr) cu.CUresult {
	want := sizeOf(a)
	switch {
	case want == 0 || size == nil:
		return cu.CUDA_ERROR_INVALID_VALUE
	case value == nil:
		return cu.CUDA_SUCCESS
	case want == nameSize && *size <= nameSize:
		d.names[a] = string(unsafe.Slice((*byte)(value), *size))
		return cu.CUDA_SUCCESS
	case *size != want:
		return cu.CUDA_ERROR_INVALID_VALUE
	case want == 4:
		d.flags = *(*uint32)(value)
		return cu.CUDA_SUCCESS
	}
	d.switches[a] = *(*byte)(value)
	return cu.CUDA_SUCCESS
}
