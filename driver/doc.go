// Package driver is the CUDA driver API for Go, without cgo.
//
// It has the objects that programs work with:
//
//	[Device] → [Context] → [Stream], [Event], modules, kernels, buffers
//
// The raw functions of cuda.h are methods of [Driver] too, with their C names:
// d.CuMemGetInfo. They, and the types, enums and constants that they take, are
// in package driver/cu. This package has aliases of the few that its own methods
// return: the errors, the result codes and the handles.
//
// A [Driver] is whatever implements the driver API: the system's library
// ([Open]) or another loader.Library, such as an emulated one. This package
// does not know which, and never chooses one on its own.
//
// A program opens a driver, takes a device's context, loads code and makes
// memory and streams from it, and sends operations:
//
//	d, err := driver.Open()
//	dev, err := d.Device(0)
//	c, err := dev.PrimaryContext()
//	m, err := c.LoadModule(ptx)
//	k, err := m.Kernel("saxpy")
//	x, err := driver.Alloc[float32](c, n)
//	s, err := c.NewStream()
//	launch, err := k.Prepare(cfg, x, float32(2), uint32(n))
//	err = s.Do(launch)
//	err = s.Wait(ctx)
//
// What can be sent is an [Op]: kernel launches, copies, fills, host functions,
// events. The same values are captured, added to graphs and set on nodes by
// package graph.
//
// # What waits
//
// Methods of [Stream] return when work is queued, not when it is done; so does
// [Kernel.Launch]. Stream.Wait, [Event.Wait] and [Context.Synchronize] wait.
// CopyFrom, CopyTo and Fill of memory, and the Run methods of operations, work on
// the legacy default stream and wait: what other streams still do to the same
// memory has to be waited for first, see [View.CopyFrom]. [Alloc], [AllocHost]
// and the Close methods of their memory may wait for the device.
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
// # Errors
//
// Methods answer errors and do not panic. An error names the object, the
// function of the driver and its code, and says what usually causes it; errors.Is
// matches the code (CUDA_ERROR_OUT_OF_MEMORY), [ErrNotSupported], [ErrClosed] and
// [ErrContextLost], errors.As takes an [*Error] out of it. %+v also prints what the
// driver's compiler said. Wrong arguments, ranges and objects of other drivers are
// found before the driver is called, mostly as CUDA_ERROR_INVALID_VALUE. Work fails after it was sent: the error is that of the
// wait, or of any later call.
//
// # Versions
//
// Drivers from CUDA 11.4 on are supported. What came later names the version
// where it is described, as (CUDA 12.3), and returns an error on an older driver
// that matches ErrNotSupported and says which version it needs.
//
// # Handles
//
// Raw handles (the Raw methods) are borrowed: keep the object reachable while
// its handle is in use.
//
// This package imports packages loader and driver/cu, and package ptx to read the
// signatures of kernels; nothing else of this module that a program can import.
package driver
