// Package loader opens dynamic libraries, looks up their functions and calls them, without cgo.
//
// It is the only package of this module that uses purego, golang.org/x/sys, assembly and linknames.
// It imports no other package of the module. It contains the paths at which CUDA drivers are
// installed, but no CUDA types.
//
// The other packages use two abstractions. A [Library] maps a symbol to a [Proc]. A Proc is a C
// address or a Go function, and both take the same argument block: a [Call] followed by machine
// words. The real driver, an emulated driver, and a wrapper that traces calls or makes them fail
// are therefore interchangeable.
//
// # Native calls
//
// On linux/amd64 and linux/arm64, a block is passed to a small C-ABI routine written in Go
// assembly. runtime.cgocall runs this routine on the system stack. Nothing is copied or allocated.
// The block stays where the caller built it. Its pointers are typed, so the runtime adjusts them if
// the stack moves. Three tasks must be done within the same native call as the function:
//
//   - making a context current before the call ([Scope])
//   - changing the capture mode around the call ([Scope])
//   - making several calls in a row ([Batch])
//
// On Windows, the syscall package makes the call from the same block. On other Linux architectures,
// purego.SyscallN does. With the build tag purecuda_syscall, every Linux build uses
// purego.SyscallN, in case a later Go version no longer allows access to runtime.cgocall. The build
// tag static omits the dynamic loader: Go functions still work, and opening a library fails with an
// error that matches [ErrStatic].
package loader
