// Go2ptxvet reports what go2ptx would report about kernels that are written in Go: code that a kernel
// cannot use, errors in directives, and generated files that are not up to date. Install it with
//
//	go install github.com/purecuda/cuda/ptx/cmd/go2ptxvet@latest
//
// and run it with
//
//	go vet -vettool=$(which go2ptxvet) ./...
//
// An editor shows its reports if it runs go vet with this flag. Package kernels has the analyzer for
// other programs.
//
// The compiler itself is not a part of this program. In a package with kernels, the analyzer runs the
// go2ptx of the library's version in the module of that package. It therefore reports what go generate
// would report, whichever version of go2ptxvet is installed. If that go2ptx is too old or too new to
// be understood, there is one report, which says so.
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/purecuda/cuda/ptx/cmd/go2ptxvet/kernels"
)

func main() { unitchecker.Main(kernels.Analyzer) }
