// Go2ptxvet reports problems in kernels that are written in Go: code that kernels cannot use,
// errors in directives, and generated files that are out of date. Install it with
//
//	go install github.com/purecuda/cuda/ptx/cmd/go2ptxvet@latest
//
// and run it with
//
//	go vet -vettool=$(which go2ptxvet) ./...
//
// Editors show its reports if they run go vet with this flag. Package kernels provides the analyzer
// for use in other programs.
//
// The compiler itself is not part of this program. In a package with kernels, the analyzer runs the
// go2ptx command from the version of this library that the package's module requires. It therefore
// reports the same problems as go generate, whichever version of go2ptxvet is installed. If the two
// versions are incompatible, the only report says so.
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/purecuda/cuda/ptx/cmd/go2ptxvet/kernels"
)

func main() { unitchecker.Main(kernels.Analyzer) }
