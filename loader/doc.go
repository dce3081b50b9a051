// Package loader opens dynamic libraries, looks their functions up and calls
// them, without cgo.
//
// It is the only package of this module that uses purego, golang.org/x/sys, assembly and
// linknames, and it imports no other package of the module. It knows where a CUDA driver is
// installed, and nothing about CUDA's types.
//
// The other packages see two abstractions. A [Library] maps a symbol to a [Proc]. A Proc is a C
// address or a Go function, and both take the same argument block: a [Call] followed by machine
// words. So the real driver, an emulated one and a wrapper that traces calls or makes them fail
// are interchangeable.
//
// # Native calls
//
// On linux/amd64 and linux/arm64 a block is passed to a small C-ABI routine written in Go
// assembly, which runtime.cgocall runs on the system stack. Nothing is copied or allocated. The
// block stays where the caller built it, and because its pointers are typed, the runtime adjusts
// them if the stack moves. Three things happen inside one native call because they cannot be
// done outside it: making a context current before the call ([Scope]), changing the capture mode
// around it (also Scope), and running several calls in a row ([Batch]).
//
// On Windows the same block goes through the syscall package, on other Linux architectures
// through purego.SyscallN. The build tag purecuda_syscall makes every Linux build use
// purego.SyscallN, in case a later Go version no longer allows access to runtime.cgocall. The
// build tag static leaves the dynamic loader out: Go functions still work, and opening a library
// fails with an error that matches [ErrStatic].
package loader
