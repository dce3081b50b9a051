package loader

import "golang.org/x/sys/unix"

// FileOf returns the path of the file that holds a C function, with symbolic links resolved, or
// "" if it cannot be determined. It shows where a library was found that was opened by name
// alone.
func FileOf(p Proc) string {
	if p.addr == 0 {
		return ""
	}
	return mappedFile(p.addr)
}

// ThreadID returns an identifier of the operating system's thread that runs the caller. Unless
// the goroutine is locked to its thread, it is only a hint.
func ThreadID() uint64 { return uint64(unix.Gettid()) }
