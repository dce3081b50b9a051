// Package cu is the raw layer of package driver: the declarations of cuda.h under their C names.
//
// Every function of the driver API is a method of [Driver] with typed parameters, and every
// type, enum and constant is here. All of this is generated from the header. The package adds:
//
//   - the functions by number ([Function]), with those functions and ABIs that the installed
//     driver has
//   - [Error], with the usual cause of each code
//   - the failed calls that can invalidate a stream capture ([CaptureFaults])
//   - calls made as a batch ([Batch])
//
// Programs use package driver, whose Driver embeds this one, so the raw functions are its
// methods too. Import this package for the types and constants that the raw functions take:
//
//	var n int32
//	err := drv.CuDeviceGetAttribute(&n, cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE, dev.Raw())
//
// A raw function checks nothing and retains nothing. The caller must destroy the objects and
// memory made with it.
//
// Of this module, this package imports only package loader and internal packages.
package cu
