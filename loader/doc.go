// Package loader opens dynamic libraries, looks their functions up and calls
// them, without cgo.
//
// It is the only package of this module that touches purego, golang.org/x/sys,
// assembly and linknames, and it imports nothing else of the module. It knows
// where a CUDA driver is installed, and nothing about CUDA's types.
//
// Everything above sees two abstractions. A [Library] turns a symbol into a
// [Proc]. A Proc is a C address or a Go function, and both take the same
// argument block: a [Call] followed by machine words. So the real driver, an
// emulated one and a wrapper that traces or fails calls are exchangeable.
//
// # The crossing
//
// On linux/amd64 and linux/arm64 a block is handed to a small C-ABI routine
// written in Go assembly, which runtime.cgocall runs on the system stack.
// Nothing is copied and nothing is allocated: the block stays where the caller
// built it, and because its pointers are typed they follow a stack that moves.
// Three things happen inside one crossing because they cannot be had outside
// it: making a context current before the call ([Scope]), changing the capture
// mode around it (also Scope), and running several calls in a row ([Batch]).
//
// On Windows the same block goes through the syscall package, on other Linux
// architectures through purego.SyscallN. The build tag purecuda_syscall makes
// every Linux build use purego.SyscallN, should a later Go close the door to
// runtime.cgocall. The build tag static leaves the dynamic loader out: Go
// functions still work, opening a library is an error that says so.
package loader
