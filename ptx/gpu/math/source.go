package math

import "embed"

// Source contains the Go files of this package. The compiler of kernels reads them.
//
//go:embed *.go
var Source embed.FS
