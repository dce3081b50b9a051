//go:build !linux && !windows

package loader

// FileOf returns "", because no library can be opened on this platform.
func FileOf(Proc) string { return "" }
