package demo

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/purecuda/cuda/loader"
)

// NotInstalled reports whether err means that a toolkit library is not installed. It returns false,
// so that the example fails, if the library exists but cannot be used or if the environment names
// it.
func NotInstalled(t loader.Toolkit, err error) bool {
	var open *loader.OpenError
	if t.Override() != "" || !errors.As(err, &open) {
		return false
	}
	for _, a := range open.Tried {
		// An absolute path is tried only if the file exists, so its failure is not a missing
		// file.
		if filepath.IsAbs(a.Name) || !errors.Is(a.Err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}
