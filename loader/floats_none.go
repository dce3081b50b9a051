//go:build static || !((linux || windows) && (amd64 || arm64))

package loader

const passesFloats = false

// invokeFloats returns Missing without a call, because this build cannot load vector registers.
func invokeFloats(*Call) uintptr { return Missing }
