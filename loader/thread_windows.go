package loader

import "golang.org/x/sys/windows"

// ThreadID returns an identifier of the operating system's thread that runs the caller. Unless
// the goroutine is locked to its thread, it is only a hint.
func ThreadID() uint64 { return uint64(windows.GetCurrentThreadId()) }
