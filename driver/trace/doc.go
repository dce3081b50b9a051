// Package trace shows every call of a CUDA driver: the function's name, the arguments decoded by
// the types of cuda.h, the result and the duration. It wraps a [loader.Library], so it traces
// the system's driver and an emulated one alike. The trace includes the calls that this module
// makes internally. A program that does not use the package pays nothing.
//
//	lib, err := driver.SystemLibrary("")
//	drv, err := driver.New(trace.Wrap(lib, trace.To(os.Stderr)))
//
// A traced call goes through Go, which takes microseconds longer. Calls that are otherwise made
// in one native call are made one by one. On the system's driver, the few functions that take a
// struct or a float by value are not traced.
package trace

//go:generate go run gen.go
