// Package driver is the CUDA driver API for Go, without cgo.
//
// It has two layers. The raw layer is generated from cuda.h: every function
// of the driver API is a method of [Driver] with its C name and typed
// parameters, every type, enum and constant has its C name. The typed layer on
// it has the objects that programs work with:
//
//	[Device] → [Context] → [Stream], [Event], modules, kernels, buffers
//
// A [Driver] is whatever implements the driver API: the system's library
// ([Open]) or another loader.Library, such as an emulated one. This package
// does not know which, and never chooses one on its own.
//
// # Goroutines
//
// Any goroutine may use any object at any time; none has to be locked to a
// thread. CUDA keeps a current context per thread, so every call that needs one
// makes its context current and calls, in one step. What the library does on
// its own account (destroying what was dropped, growing a pool) and every wait
// and query runs under the relaxed capture mode, so that it cannot invalidate
// a stream capture that is open elsewhere in the process.
//
// # Lifetimes
//
// Objects are closed explicitly. Close is idempotent, does nothing on nil, and
// may come in any order: an object lives on until those made from it are
// closed as well, and closing a [Context] releases it when the last of its
// objects goes. Calls on a closed or nil object return an error that names it
// and matches [ErrClosed]. An object that is dropped without Close is destroyed
// after the garbage collector noticed, and reported to the hook that
// [SetLeakHook] installed.
//
// Raw handles (the Raw methods) are borrowed: keep the object reachable while
// its handle is in use.
//
// This package imports package loader, and package ptx to read the signatures
// of kernels; nothing else of this module.
package driver
