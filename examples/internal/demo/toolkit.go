package demo

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/purecuda/cuda/loader"
)

// NotInstalled reports whether err, from opening a library of the toolkit, means that
// the library is not installed. It is false for a library that exists but cannot be
// used, or that the environment names. An example must report that as an error.
func NotInstalled(t loader.Toolkit, err error) bool {
	var open *loader.OpenError
	if t.Override() != "" || !errors.As(err, &open) {
		return false
	}
	for _, a := range open.Tried {
		// An absolute path is tried only if the file exists.
		if filepath.IsAbs(a.Name) || !errors.Is(a.Err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}
