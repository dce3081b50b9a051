package demo

import (
	"errors"
	"io/fs"
	"path/filepath"

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
		// Absolute paths are tried only because there is a file.
		if filepath.IsAbs(a.Name) || !errors.Is(a.Err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}
