// Package driver is the CUDA driver API for Go, without cgo. It provides the objects that programs
// work with:
//
//	[Device] → [Context] → [Stream], [Event], modules, kernels, buffers
//
// A [Driver] is any implementation of the driver API: the system's library ([Open]) or another
// loader.Library, such as an emulator. This package treats them alike and never chooses one for
// you. The raw functions of cuda.h are also methods of Driver, with their C names: d.CuMemGetInfo.
// They and their types, enums and constants are in package driver/cu. This package has aliases for
// the few that its own methods use: errors, result codes and handles.
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
// An operation is an [Op]: a kernel launch, a copy, a fill, a host function, an event. Package
// graph accepts the same values: it captures them, adds them to graphs and updates nodes with them.
//
// # What waits
//
// Methods of [Stream] and [Kernel.Launch] return when work is enqueued, not when it is done. To
// wait, use Stream.Wait, [Event.Wait] or [Context.Synchronize]. The methods CopyFrom, CopyTo and
// Fill of memory, and the Run methods of operations, run on the legacy default stream and wait.
// Before you call one, wait for other streams that use the same memory: see [View.CopyFrom].
// [Alloc], [AllocHost] and the Close methods of their memory may wait for the device.
//
// # Goroutines
//
// Any goroutine may use any object at any time, unless the object's documentation says otherwise. A
// goroutine need not be locked to a thread: every call that needs a context makes it current in the
// same native call. The library's background work (destroying unreachable objects, growing a pool)
// and all waits and queries run in the relaxed capture mode. They cannot invalidate a stream
// capture elsewhere in the process.
//
// # Lifetimes
//
// Objects must be closed. Close is idempotent and does nothing on nil. Objects can be closed in any
// order. A closed object is destroyed once the objects created from it are closed too. A closed
// [Context] is released with the last of its objects. A graph that refers to an object delays its
// destruction. If an object becomes unreachable without Close, it is destroyed after a garbage
// collection and reported to the hook set by [SetLeakHook]. Raw handles (the Raw methods) are
// borrowed: keep the object reachable while its handle is in use. On a nil object, Raw returns 0,
// and Context and Lifetime return nil.
//
// # Errors
//
// Methods return errors and do not panic. An error names the object, the driver function and its
// code, and states the usual cause. errors.Is matches the code (CUDA_ERROR_OUT_OF_MEMORY),
// [ErrNotSupported], [ErrClosed] and [ErrContextLost]. errors.As extracts an [*Error]. %+v also
// prints the output of the driver's compiler. Invalid arguments, invalid ranges and objects that
// belong to other drivers are detected before the driver is called, usually with
// CUDA_ERROR_INVALID_VALUE. If work fails after it was enqueued, the wait or any later call returns
// the error.
//
// Drivers for CUDA 11.4 and later are supported. The documentation of a later feature names its
// version, as in (CUDA 12.3). On an older driver, such a feature returns an error that matches
// ErrNotSupported and names the required version.
//
// This package imports packages loader and driver/cu, and package ptx to read the signatures of
// kernels, but no other public package of this module.
package driver
