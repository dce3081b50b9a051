//go:build !static

package loader

import (
	"strings"

	"golang.org/x/sys/windows"
)

// dlopen takes a bare name from System32 only, so that nobody can plant a DLL
// beside the program or in the working directory. A path is opened with its
// own directory searched for what it depends on.
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
