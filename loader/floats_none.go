//go:build static || !((linux || windows) && (amd64 || arm64))

package loader

const passesFloats = false

// invokeFloats makes no call: this build does not know the registers.
func invokeFloats(*Call) uintptr { return Missing }
