// Package trace reports every call of a CUDA driver: the function's name, the arguments decoded
// according to cuda.h, the result and the duration. It wraps a [loader.Library], so it can trace
// the system's driver or an emulator. The trace includes the calls that this module makes
// internally. A program that does not import this package has no overhead.
//
//	lib, err := driver.SystemLibrary("")
//	drv, err := driver.New(trace.Wrap(lib, trace.To(os.Stderr)))
//
// A traced call goes through Go and takes microseconds longer. Calls that are usually batched into
// one native call are made one by one. On the system's driver, the few functions that take a float
// or a struct of more than 16 bytes by value are not traced.
package trace

//go:generate go run gen.go
