package nvrtc

import (
	"fmt"
	"unsafe"

	"github.com/purecuda/cuda/loader"
)

// functions holds the C functions of NVRTC, as declared in nvrtc.h.
type functions struct {
	version          loader.Proc
	createProgram    loader.Proc
	destroyProgram   loader.Proc
	addName          loader.Proc
	compileProgram   loader.Proc
	logSize, log     loader.Proc
	ptxSize, ptx     loader.Proc
	loweredName      loader.Proc
	cubinSize, cubin loader.Proc // available since NVRTC 11.1
	archCount, archs loader.Proc // available since NVRTC 11.2
}

func resolve(lib loader.Library) (*functions, error) {
	f := &functions{}
	for _, s := range []struct {
		name string
		proc *loader.Proc
	}{
		{"nvrtcVersion", &f.version},
		{"nvrtcCreateProgram", &f.createProgram},
		{"nvrtcDestroyProgram", &f.destroyProgram},
		{"nvrtcAddNameExpression", &f.addName},
		{"nvrtcCompileProgram", &f.compileProgram},
		{"nvrtcGetProgramLogSize", &f.logSize},
		{"nvrtcGetProgramLog", &f.log},
		{"nvrtcGetPTXSize", &f.ptxSize},
		{"nvrtcGetPTX", &f.ptx},
		{"nvrtcGetLoweredName", &f.loweredName},
		{"nvrtcGetCUBINSize", &f.cubinSize},
		{"nvrtcGetCUBIN", &f.cubin},
		{"nvrtcGetNumSupportedArchs", &f.archCount},
		{"nvrtcGetSupportedArchs", &f.archs},
	} {
		var err error
		if *s.proc, err = lib.Lookup(s.name); err != nil {
			return nil, fmt.Errorf("%s is not NVRTC 11.2 or newer: %w", lib.Name(), err)
		}
	}
	return f, nil
}

// The following functions are named after the parameters of the C function that they call: P is a
// pointer, H a program and N an int. The comment on loader.Call explains why the pointers in their
// argument blocks are typed.

func callP(proc *loader.Proc, p unsafe.Pointer) Code {
	b := struct {
		call loader.Call
		p    unsafe.Pointer
		_    [7]uintptr
	}{call: loader.Call{Proc: proc, N: 1}, p: p}
	return code(loader.Invoke(&b.call))
}

func callPP(proc *loader.Proc, p, q unsafe.Pointer) Code {
	b := struct {
		call loader.Call
		p, q unsafe.Pointer
		_    [6]uintptr
	}{call: loader.Call{Proc: proc, N: 2}, p: p, q: q}
	return code(loader.Invoke(&b.call))
}

func callHP(proc *loader.Proc, h uintptr, p unsafe.Pointer) Code {
	b := struct {
		call loader.Call
		h    uintptr
		p    unsafe.Pointer
		_    [6]uintptr
	}{call: loader.Call{Proc: proc, N: 2}, h: h, p: p}
	return code(loader.Invoke(&b.call))
}

func callHPP(proc *loader.Proc, h uintptr, p, q unsafe.Pointer) Code {
	b := struct {
		call loader.Call
		h    uintptr
		p, q unsafe.Pointer
		_    [5]uintptr
	}{call: loader.Call{Proc: proc, N: 3}, h: h, p: p, q: q}
	return code(loader.Invoke(&b.call))
}

func callHNP(proc *loader.Proc, h uintptr, n int, p unsafe.Pointer) Code {
	b := struct {
		call loader.Call
		h, n uintptr
		p    unsafe.Pointer
		_    [5]uintptr
	}{call: loader.Call{Proc: proc, N: 3}, h: h, n: uintptr(n), p: p}
	return code(loader.Invoke(&b.call))
}

func (f *functions) create(h *uintptr, source, name *byte, n int, texts, names **byte) Code {
	b := struct {
		call         loader.Call
		h            *uintptr
		source, name *byte
		n            uintptr
		texts, names **byte
		_            [2]uintptr
	}{call: loader.Call{Proc: &f.createProgram, N: 6}, h: h, source: source, name: name, n: uintptr(n), texts: texts, names: names}
	return code(loader.Invoke(&b.call))
}

func code(ret uintptr) Code { return Code(int32(uint32(ret))) }

// bytes reads data through two functions. One returns the size, and the other copies the
// data.
func (f *functions) bytes(h uintptr, size, copy *loader.Proc) ([]byte, Code) {
	n := new(uintptr)
	if c := callHP(size, h, unsafe.Pointer(n)); c != NVRTC_SUCCESS || *n == 0 {
		return nil, c
	}
	b := make([]byte, *n)
	return b, callHP(copy, h, unsafe.Pointer(&b[0]))
}

// text calls bytes and strips trailing NULs.
func (f *functions) text(h uintptr, size, copy *loader.Proc) ([]byte, Code) {
	b, c := f.bytes(h, size, copy)
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b, c
}

// lowered calls nvrtcGetLoweredName. The C string belongs to the program.
func (f *functions) lowered(h uintptr, name *byte) (string, Code) {
	out := new(*byte)
	c := callHPP(&f.loweredName, h, unsafe.Pointer(name), unsafe.Pointer(out))
	if c != NVRTC_SUCCESS {
		return "", c
	}
	return goString(*out), c
}

// cString returns s followed by a NUL. s must not contain a NUL.
func cString(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}

func cStrings(list []string) []*byte {
	all := make([]*byte, len(list))
	for i, s := range list {
		all[i] = cString(s)
	}
	return all
}

func goString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
