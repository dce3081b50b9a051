package loader

import (
	"errors"
	"unsafe"
)

// ErrSymbolNotFound matches the error of Lookup if the library does not have the function.
var ErrSymbolNotFound = errors.New("symbol not found")

// Missing is the result of invoking a zero Proc, which calls nothing.
const Missing = ^uintptr(0)

// Library maps symbols to functions. The system's driver, an emulated driver, and wrappers around
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
// It must not keep a pointer argument after it returns, nor pass one to another goroutine, because
// the memory may be on the caller's stack. The only exception is a function whose contract says
// that it keeps the pointer.
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

// Call calls p with the given words and returns its result. It copies the words and allocates, so
// frequently executed code should build its own block and use Invoke.
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

// Call is the head of the argument block of one call. The argument words follow it in the same
// struct, one machine word each. There must be room for at least eight words, because the
// trampolines load every argument register, whether the function uses it or not.
//
//	block := struct {
//		call loader.Call
//		ptr  *uint64
//		size uintptr
//		_    [6]uintptr
//	}{loader.Call{Proc: &p, N: 2}, &out, 64, [6]uintptr{}}
//	result := loader.Invoke(&block.call)
//
// Pointers must be typed fields, not uintptrs that were converted earlier. The block is usually on
// a goroutine's stack, which can move until the native call begins.
type Call struct {
	Proc  *Proc   // the function to call
	Scope *Scope  // context and capture mode of the call; if nil, those of the thread do not change
	N     uintptr // number of argument words, plus flags for floats (see FloatArg)
	Ret   uintptr // the full result register
}

const (
	callWords = int(unsafe.Sizeof(Call{}) / unsafe.Sizeof(uintptr(0)))
	minWords  = 8 // number of argument registers in AAPCS64, the largest of the supported ABIs
)

func (c *Call) args() unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(c), unsafe.Sizeof(Call{}))
}

// Args gives access to the words in a GoFunc's argument block.
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

// Forward calls p with the same arguments. A wrapping library uses it to pass a call on to the
// wrapped library.
func (a Args) Forward(p *Proc) uintptr {
	if p.fn != nil {
		return p.fn(a)
	}
	if a.words == nil { // a zero Args has no block
		return Missing
	}
	c := (*Call)(unsafe.Add(a.words, -int(unsafe.Sizeof(Call{}))))
	outer := *c
	c.Proc, c.Scope = p, nil
	ret := Invoke(c)
	*c = outer
	return ret
}

// noescape hides a pointer from escape analysis. This is sound because a C function reached through
// Invoke does not keep the block, and a GoFunc must not.
//
//go:nosplit
func noescape(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}

// escaped makes escape analysis assume that blocks are retained.
//
//lint:ignore U1000 only the store matters
var escaped *Call

// InvokeEscaping is Invoke for C functions that call back into Go before they return. Every such
// function must be called this way. A callback may make the goroutine's stack grow and thus move,
// and neither the trampoline nor C would notice. The block and everything that it points to must
// therefore be on the heap. InvokeEscaping makes them escape.
func InvokeEscaping(c *Call) uintptr {
	if c == nil {
		escaped = c // never runs, but the compiler cannot prove that
	}
	return Invoke(c)
}
