//go:build !cgo

// Command besidecgo needs cgo. Without cgo, the package has only this file.
package main

func main() { panic("besidecgo is about cgo: build it with CGO_ENABLED=1") }
