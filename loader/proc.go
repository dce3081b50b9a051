package loader

import (
	"errors"
	"unsafe"
)

// ErrSymbolNotFound is matched by the error of a Lookup for a function that
// the library does not have.
var ErrSymbolNotFound = errors.New("symbol not found")

// Missing is the result of invoking a zero Proc, which calls nothing.
const Missing = ^uintptr(0)

// Library maps symbols to functions. The system's driver, an emulated driver and wrappers around
// either implement it.
type Library interface {
	// Name identifies the library by its path or a description.
	Name() string
	// Lookup returns the function with the given symbol, or an error that matches
	// ErrSymbolNotFound.
	Lookup(symbol string) (Proc, error)
	// Close unloads the library. Its functions must not be called afterwards.
	Close() error
}

// GoFunc is a function of a Library that is written in Go.
//
// It must not keep a pointer argument after it returns, nor pass one to another goroutine,
// because the memory may be on the caller's stack. The only exception is a function that keeps
// the pointer by contract.
type GoFunc func(a Args) uintptr

// Proc is a function of a Library: a C address or a Go function. The zero Proc is a missing
// function.
type Proc struct {
	addr uintptr // read by the assembly at offset 0
	fn   GoFunc
}

// AddrProc returns the Proc of the C function at addr.
func AddrProc(addr uintptr) Proc { return Proc{addr: addr} }

// FuncProc returns the Proc of a Go function.
func FuncProc(f GoFunc) Proc { return Proc{fn: f} }

// IsZero reports whether p is the zero Proc, a missing function.
func (p Proc) IsZero() bool { return p.addr == 0 && p.fn == nil }

// IsGo reports whether the function is written in Go.
func (p Proc) IsGo() bool { return p.fn != nil }

// Addr returns the C address, or 0 for a Go function.
func (p Proc) Addr() uintptr { return p.addr }

// Call calls p with the given words and returns its result. It copies and allocates, so code
// that runs often should build its own block and use Invoke.
func (p *Proc) Call(words ...uintptr) uintptr {
	if p == nil {
		return Missing
	}
	block := make([]uintptr, callWords+max(len(words), minWords))
	copy(block[callWords:], words)
	c := (*Call)(unsafe.Pointer(&block[0]))
	*c = Call{Proc: p, N: uintptr(len(words))}
	return Invoke(c)
}

// Call heads the argument block of one call. The argument words follow it in the same struct,
// one 8-byte slot each. There must be room for at least eight, because the trampolines load
// every argument register, whether the function takes it or not.
//
//	block := struct {
//		call loader.Call
//		ptr  *uint64
//		size uintptr
//		_    [6]uintptr
//	}{loader.Call{Proc: &p, N: 2}, &out, 64, [6]uintptr{}}
//	result := loader.Invoke(&block.call)
//
// Pointers must be typed fields, not uintptrs converted earlier: the block usually is on a
// goroutine's stack, which can move until the native call begins.
type Call struct {
	Proc  *Proc   // what to call
	Scope *Scope  // context and capture mode for the call; nil: leave the thread as it is
	N     uintptr // number of argument words, plus flags for floats: see FloatArg
	Ret   uintptr // the result, the full register
}

const (
	callWords = int(unsafe.Sizeof(Call{}) / unsafe.Sizeof(uintptr(0)))
	minWords  = 8 // argument registers of AAPCS64, the most of any ABI here
)

// args returns the block's argument words.
func (c *Call) args() unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(c), unsafe.Sizeof(Call{}))
}

// Args gives a GoFunc access to the words of its argument block.
type Args struct {
	words unsafe.Pointer
	n     int
}

// Len returns the number of argument words.
func (a Args) Len() int { return a.n }

// Word returns argument i as a machine word.
func (a Args) Word(i int) uintptr { return *(*uintptr)(a.slot(i)) }

// Ptr returns argument i as a pointer.
func (a Args) Ptr(i int) unsafe.Pointer { return *(*unsafe.Pointer)(a.slot(i)) }

// Uint32 returns argument i as an unsigned int.
func (a Args) Uint32(i int) uint32 { return uint32(a.Word(i)) }

// Int32 returns argument i as an int.
func (a Args) Int32(i int) int32 { return int32(a.Word(i)) }

// Uint64 returns argument i as an unsigned long long.
func (a Args) Uint64(i int) uint64 { return uint64(a.Word(i)) }

func (a Args) slot(i int) unsafe.Pointer {
	if uint(i) >= uint(a.n) {
		panic("loader: argument index out of range")
	}
	return unsafe.Add(a.words, uintptr(i)*unsafe.Sizeof(uintptr(0)))
}

// Forward calls p with the same arguments. A wrapping library uses it to pass a call on.
func (a Args) Forward(p *Proc) uintptr {
	if p.fn != nil {
		return p.fn(a)
	}
	if a.words == nil { // zero Args have no block
		return Missing
	}
	c := (*Call)(unsafe.Add(a.words, -int(unsafe.Sizeof(Call{}))))
	outer := *c
	c.Proc, c.Scope = p, nil
	ret := Invoke(c)
	*c = outer
	return ret
}

// noescape hides a pointer from escape analysis. This is sound here because a C function reached
// through Invoke does not keep the block, and a GoFunc must not.
//
//go:nosplit
func noescape(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}

// escaped makes escape analysis assume that a block is kept.
//
//lint:ignore U1000 only the store matters
var escaped *Call

// InvokeEscaping is Invoke for C functions that call back into Go before they return. Use it for
// every such function. A callback may grow the goroutine's stack and so move it, and neither the
// trampoline nor C would notice. So the block and what it points to must be on the heap, and
// InvokeEscaping makes them escape.
func InvokeEscaping(c *Call) uintptr {
	if c == nil {
		escaped = c // never runs, but the compiler cannot know that
	}
	return Invoke(c)
}
