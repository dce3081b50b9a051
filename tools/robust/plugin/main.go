// Command plugin is a Go plugin that uses CUDA. Plugins need cgo.
//
//	CGO_ENABLED=1 go build -buildmode=plugin -o add.so ./plugin
package main

import "github.com/purecuda/cuda/tools/robust/work"

// Once is the symbol that the host looks up.
func Once(emulated bool) error { return work.Once(emulated) }

func main() {}
