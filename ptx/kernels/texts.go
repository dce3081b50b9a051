package kernels

import (
	"io/fs"

	"github.com/purecuda/cuda/internal/launchers"
)

// Texts returns the PTX files of all kernels, for programs that load them in another
// way. A program that calls it contains all of them.
func Texts() fs.FS { return launchers.Texts }
