// Package cu is the raw layer of package driver: the declarations of cuda.h under their C names.
//
// Every function of the driver API is a method of [Driver] with typed parameters, and every
// type, enum and constant is here. All of this is generated from the header. The package adds:
//
//   - [Function], which identifies a function in one ABI; [Driver.Has] reports whether the
//     installed driver has it
//   - [Error], which explains the usual cause of each code
//   - [CaptureFaults], which counts failed calls that can invalidate a stream capture
//   - [Batch], which makes several calls in one native call
//
// Programs use package driver. Its Driver embeds this one, so it also has the raw functions as
// methods. Import this package for the types and constants that raw functions require:
//
//	var n int32
//	err := drv.CuDeviceGetAttribute(&n, cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE, dev.Raw())
//
// A raw function checks nothing and retains nothing. The caller must destroy the objects and free
// the memory that it creates with raw functions.
//
// Within this module, this package imports only package loader and internal packages.
package cu
