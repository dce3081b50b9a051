//go:build !linux && !windows

package loader

// FileOf returns "": no library is opened on this platform.
func FileOf(Proc) string { return "" }
