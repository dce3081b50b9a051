// Package cu is the raw layer of package driver: what cuda.h declares, under its C
// names.
//
// Every function of the driver API is a method of [Driver] with typed parameters,
// and every type, enum and constant is here. All of that is generated from the
// header. Around it are the functions by number ([Function]), which functions and
// ABIs the installed driver has, [Error] with each code's usual cause, the failed
// calls that can invalidate a stream capture ([CaptureFaults]), and calls that are
// made as a batch ([Batch]).
//
// Programs use package driver, whose Driver embeds this one: the raw functions are
// its methods too. Import this package for what they take:
//
//	var n int32
//	err := drv.CuDeviceGetAttribute(&n, cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE, dev.Raw())
//
// A raw function checks nothing and retains nothing. Objects and memory that are
// made with one are the caller's to destroy.
//
// This package imports package loader and nothing else that a program can import.
package cu
