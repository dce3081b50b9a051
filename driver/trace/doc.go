// Package trace shows every call of a CUDA driver: name, arguments decoded by
// the types of cuda.h, result and duration. It wraps a [loader.Library], so it
// traces the system's driver and an emulated one alike, also the calls that
// this module makes on its own account, and costs nothing where it is not used.
//
//	lib, err := driver.SystemLibrary("")
//	drv, err := driver.New(trace.Wrap(lib, trace.To(os.Stderr)))
//
// A traced call goes through Go: it takes microseconds longer, and calls that
// are made in one crossing otherwise are made one by one. On the system's
// driver the few functions that take a struct or a float by value are passed on
// untraced.
package trace

//go:generate go run gen.go
