//go:build !static

package loader

import (
	"strings"

	"golang.org/x/sys/windows"
)

// dlopen opens a name without a path from System32 only. So nobody can plant a DLL next to the
// program or in the working directory. For a path, Windows also searches its directory for the
// library's dependencies. See
// https://learn.microsoft.com/windows/win32/dlls/dynamic-link-library-security
func dlopen(name string) (uintptr, error) {
	flags := uintptr(windows.LOAD_LIBRARY_SEARCH_SYSTEM32)
	if strings.ContainsAny(name, `\/`) {
		flags |= windows.LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR
	}
	h, err := windows.LoadLibraryEx(name, 0, flags)
	if err == nil {
		stayAwake() // the library may have threads that call back
	}
	return uintptr(h), err
}

func dlsym(handle uintptr, symbol string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(handle), symbol)
}

func dlclose(handle uintptr) error { return windows.FreeLibrary(windows.Handle(handle)) }
