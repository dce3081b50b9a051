//go:build !cgo

// Command cshared needs cgo; without it, only this file is left.
package main

func main() { panic("cshared is a library for C: build it with CGO_ENABLED=1 -buildmode=c-shared") }
