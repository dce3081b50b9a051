//go:build !cgo

// Command besidecgo needs cgo; without it, only this file is left.
package main

func main() { panic("besidecgo is about cgo: build it with CGO_ENABLED=1") }
