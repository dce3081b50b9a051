// Package launchers has the kernels of package kernels as they are: their PTX
// and, for each, a launcher that ptx2go made of it. Package kernels loads the texts
// from here. The launchers themselves are for tests and benchmarks: hundreds of
// kernels with every kind of signature. They check nothing that the operations of
// package kernels check (lengths, overlaps, alignment, the size of the grid).
//
//	fill, err := launchers.FillB32In(ctx)
//	err = fill.Do(stream, fill.Grid((n+3)/4), x.All(), uint64(n), 1)
//
// A launcher's name is that of the kernel: what it does, then the types. B8 to
// B64 are any elements of so many bits, which are unsigned numbers here:
// [driver.ViewAs] sees memory of other types as such. Numbers of elements and
// pitches count elements. Where a number of elements or of rows is 0, a kernel
// does nothing.
//
// The code of a file is loaded into a context when one of its kernels is first
// asked for, once for this package and package kernels together, and goes with
// the context. A program contains the texts of the files it uses, no others.
package launchers

import "embed"

//go:generate go run github.com/purecuda/cuda/ptx/ptx2go -q -embedded *.ptx

// Texts are the PTX files, for programs that load them in another way. They are
// made of the sources in ptx/kernels/src by its build.sh.
//
//go:embed *.ptx
var Texts embed.FS
