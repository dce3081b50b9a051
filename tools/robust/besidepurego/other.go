//go:build !linux || (!amd64 && !arm64)

// Command besidepurego runs only on Linux.
package main

func main() { panic("besidepurego is for linux/amd64 and linux/arm64") }
