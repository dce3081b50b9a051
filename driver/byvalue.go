package driver

import (
	"math"
	"runtime"

	"github.com/purecuda/cuda/loader"
)

// Almost every argument of the driver API is a word. The exceptions are here.
//
// Structs of 8 bytes (CUmemLocation) are one word in every ABI this package
// runs on: a register or an 8-byte slot.
//
// Structs of more than 16 bytes (CUipcMemHandle and CUipcEventHandle, 64 bytes)
// differ:
//
//   - System V, x86-64 (3.2.3, class MEMORY): copied to the stack, where they
//     lie after the arguments that found no register. The block has the
//     register arguments, empty slots up to six, then the struct's eight words.
//   - AAPCS64 (6.8.2, B.4): the caller copies the struct and passes the address
//     of the copy in the argument's place.
//   - Windows, x64 and ARM64: the same.
//
// A Go function always gets a pointer in the argument's slot.

// structsOnStack reports whether a function takes large structs on the stack.
func structsOnStack(p *loader.Proc) bool {
	return runtime.GOARCH == "amd64" && runtime.GOOS != "windows" && !p.IsGo()
}

// Floating-point arguments (four functions of the old texture references and
// of the old parameter API) travel in registers of their own:
//
//   - System V x86-64 and AAPCS64: in the first vector registers, and they do
//     not take up an integer register. The block has them in slots 6 and 7,
//     from where the trampolines load the first two vector registers.
//   - Windows x64: in the vector register of the argument's position, which
//     syscall.SyscallN loads from the same slot as the integer register.
//   - elsewhere there is no way to load them, and the call is refused.
//
// A Go function gets the bits in the argument's slot.
type floatPassing int

const (
	floatsInSlots floatPassing = iota
	floatsInRegisters
	floatsImpossible
)

func passFloats(p *loader.Proc) floatPassing {
	if p.IsGo() {
		return floatsInSlots
	}
	return floatABI
}

// floatWord is a float's bits, in the half of the word where C looks.
func floatWord(f float32) uintptr { return uintptr(math.Float32bits(f)) }
