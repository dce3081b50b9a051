//go:build static || !((linux || windows) && (amd64 || arm64))

package loader

const passesFloats = false

// invokeFloats makes no call and returns Missing, because this build cannot load vector registers.
func invokeFloats(*Call) uintptr { return Missing }
