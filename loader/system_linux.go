package loader

import "golang.org/x/sys/unix"

// FileOf returns the path of the file that contains a C function, with symbolic links resolved, or
// "" if it cannot be determined. For a library that was opened by name only, it shows where the
// library was found.
func FileOf(p Proc) string {
	if p.addr == 0 {
		return ""
	}
	return mappedFile(p.addr)
}

// ThreadID returns an identifier of the operating system thread that runs the caller. Unless the
// goroutine is locked to its thread, the identifier is only a hint.
func ThreadID() uint64 { return uint64(unix.Gettid()) }
