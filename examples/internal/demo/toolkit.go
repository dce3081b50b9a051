package demo

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/purecuda/cuda/loader"
)

// NotInstalled reports whether err, of opening a library of the toolkit, means that
// there is none. A library that is there and cannot be used, or that the environment
// names, is another matter: an example that was silent about it would seem to work.
func NotInstalled(t loader.Toolkit, err error) bool {
	var open *loader.OpenError
	if t.Override() != "" || !errors.As(err, &open) {
		return false
	}
	for _, a := range open.Tried {
		if !absent(a) {
			return false
		}
	}
	return true
}

// moduleNotFound is what Windows answers then.
const moduleNotFound = syscall.Errno(126)

// absent reports whether the system found nothing of that name. Absolute paths are
// tried only because there is a file. What a library needs itself may be missing
// too, and then the reason has that other name.
func absent(a loader.Attempt) bool {
	if filepath.IsAbs(a.Name) {
		return false
	}
	reason := a.Err.Error()
	glibc := strings.HasPrefix(reason, a.Name+": cannot open shared object file: No such file")
	musl := strings.HasPrefix(reason, "Error loading shared library "+a.Name+": No such file") && !strings.Contains(reason, "needed by")
	return glibc || musl || errors.Is(a.Err, moduleNotFound)
}
