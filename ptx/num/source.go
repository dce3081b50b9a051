package num

import "embed"

// Source contains the Go files of this package. The kernel compiler reads them.
//
//go:embed *.go
var Source embed.FS
