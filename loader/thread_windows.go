package loader

import "golang.org/x/sys/windows"

// ThreadID identifies the operating system's thread that runs the caller. It
// means something only while the goroutine is locked to its thread, or as a
// hint.
func ThreadID() uint64 { return uint64(windows.GetCurrentThreadId()) }
