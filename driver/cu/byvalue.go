package cu

import (
	"math"
	"runtime"

	"github.com/purecuda/cuda/loader"
)

// Almost every argument of the driver API is a machine word. This file handles the exceptions.
//
// Structs of 8 bytes (CUmemLocation) are one word in every ABI that this package supports: a
// register or an 8-byte slot.
//
// How structs of more than 16 bytes (CUipcMemHandle and CUipcEventHandle, 64 bytes) are passed
// depends on the ABI:
//
//   - System V, x86-64 (3.2.3, class MEMORY): the struct is copied to the stack, after the
//     arguments that do not fit in registers. The argument block contains the register arguments,
//     unused slots up to the sixth, and the struct's eight words.
//   - AAPCS64 (6.8.2, B.4): the caller copies the struct and passes the address of the copy
//     instead.
//   - Windows, x64 and ARM64: as in AAPCS64.
//
// A Go function always receives a pointer to the struct.

// structsOnStack reports whether the function expects large structs on the stack.
func structsOnStack(p *loader.Proc) bool {
	return runtime.GOARCH == "amd64" && runtime.GOOS != "windows" && !p.IsGo()
}

// passesFloats reports whether floating-point arguments can be passed to the function. Three
// functions in the old texture reference and parameter APIs have such arguments.
func passesFloats(p *loader.Proc) bool { return p.IsGo() || loader.PassesFloats() }

// floatWord returns a float's bits in the lower half of a word. C code reads only that half.
func floatWord(f float32) uintptr { return uintptr(math.Float32bits(f)) }
