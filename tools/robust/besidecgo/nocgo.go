//go:build !cgo

// Command besidecgo needs cgo; this is what is left of it without.
package main

func main() { panic("besidecgo is about cgo: build it with CGO_ENABLED=1") }
