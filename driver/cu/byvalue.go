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
// Structs of more than 16 bytes (CUipcMemHandle and CUipcEventHandle, 64 bytes) depend on the ABI:
//
//   - System V, x86-64 (3.2.3, class MEMORY): copied to the stack, after the arguments that did
//     not fit in registers. The block has the register arguments, empty slots up to six, then the
//     struct's eight words.
//   - AAPCS64 (6.8.2, B.4): the caller copies the struct and passes the address
//     of the copy in the argument's place.
//   - Windows, x64 and ARM64: the same.
//
// A Go function always gets a pointer in the argument's slot.

// structsOnStack reports whether a function takes large structs on the stack.
func structsOnStack(p *loader.Proc) bool {
	return runtime.GOARCH == "amd64" && runtime.GOOS != "windows" && !p.IsGo()
}

// passesFloats reports whether floating-point arguments can be passed to a function. Four
// functions have such arguments: those of the old texture references and of the old parameter
// API.
func passesFloats(p *loader.Proc) bool { return p.IsGo() || loader.PassesFloats() }

// floatWord returns a float's bits in the half of the word that C reads.
func floatWord(f float32) uintptr { return uintptr(math.Float32bits(f)) }
