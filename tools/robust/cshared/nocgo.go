//go:build !cgo

// Command cshared needs cgo. Without cgo, the package has only this file.
package main

func main() { panic("cshared is a library for C: build it with CGO_ENABLED=1 -buildmode=c-shared") }
