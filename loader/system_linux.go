package loader

import "golang.org/x/sys/unix"

// FileOf returns the path of the file that contains a C function, with symbolic links resolved, or
// "" if it cannot be determined. If a library was opened only by name, FileOf shows where it was
// found.
func FileOf(p Proc) string {
	if p.addr == 0 {
		return ""
	}
	return mappedFile(p.addr)
}

// ThreadID returns an identifier of the operating system thread that runs the caller. Unless the
// goroutine is locked to its thread, the identifier is only a hint.
func ThreadID() uint64 { return uint64(unix.Gettid()) }
