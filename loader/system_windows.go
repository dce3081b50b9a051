package loader

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// FileOf returns the path of the file that contains a C function, or "" if it cannot be determined.
// If a library was opened only by name, FileOf shows where it was found.
func FileOf(p Proc) string {
	if p.addr == 0 {
		return ""
	}
	const byAddress = windows.GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | windows.GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT
	var module windows.Handle
	// With the flag byAddress, GetModuleHandleEx takes an address instead of a name.
	if err := windows.GetModuleHandleEx(byAddress, *(**uint16)(unsafe.Pointer(&p.addr)), &module); err != nil {
		return ""
	}
	path := make([]uint16, windows.MAX_LONG_PATH)
	n, err := windows.GetModuleFileName(module, &path[0], uint32(len(path)))
	if err != nil {
		return ""
	}
	return windows.UTF16ToString(path[:n])
}

// ThreadID returns an identifier of the operating system thread that runs the caller. Unless the
// goroutine is locked to its thread, the identifier is only a hint.
func ThreadID() uint64 { return uint64(windows.GetCurrentThreadId()) }
