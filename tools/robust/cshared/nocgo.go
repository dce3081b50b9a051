//go:build !cgo

// Command cshared needs cgo; this is what is left of it without.
package main

func main() { panic("cshared is a library for C: build it with CGO_ENABLED=1 -buildmode=c-shared") }
