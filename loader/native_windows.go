//go:build !static

package loader

import (
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// dlopen searches for a name without a path only in System32, so that nobody can plant a DLL next
// to the program or in the working directory. For a path, Windows also searches the path's
// directory for the library's dependencies. See
// https://learn.microsoft.com/windows/win32/dlls/dynamic-link-library-security
func dlopen(name string) (uintptr, error) {
	flags := uintptr(windows.LOAD_LIBRARY_SEARCH_SYSTEM32)
	if strings.ContainsAny(name, `\/`) {
		flags |= windows.LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR
	}
	h, err := windows.LoadLibraryEx(name, 0, flags)
	if err == nil {
		stayAwake() // the library may have threads that call back into Go
	}
	return uintptr(h), err
}

func dlsym(handle uintptr, symbol string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(handle), symbol)
}

func dlclose(handle uintptr) error { return windows.FreeLibrary(windows.Handle(handle)) }

// stayAwake keeps one thread in a call that never ends. Without cgo, Go's runtime on Windows
// reports a deadlock if all goroutines wait, even if a driver thread is about to call back
// (https://go.dev/issue/55015). A thread that is in a native call counts as running.
var stayAwake = sync.OnceFunc(func() {
	go windows.SleepEx(windows.INFINITE, false)
})

// Invoke makes the call of the block that begins with c. It returns the result, and also stores it in
// c.Ret. Neither the block nor the memory that it points to escapes, because syscall.SyscallN reads
// the words of the block in place.
func Invoke(c *Call) uintptr {
	return invokeSlow((*Call)(noescape(unsafe.Pointer(c))))
}

// invokeC makes one call to a C function. It ignores the scope.
func invokeC(c *Call) uintptr {
	r, _, _ := syscall.SyscallN(c.Proc.addr, c.words()...)
	return r
}

// run makes the calls of a batch. In this build, each call is a separate native call.
func (b *Batch) run(s *Scope) { b.runSlow(s) }
