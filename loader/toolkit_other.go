//go:build !linux && !windows

package loader

// patterns has one entry so that the error has something to name.
func (t Toolkit) patterns() []string { return []string{"CUDA toolkit for this platform"} }

var librarySubfolders []string

func toolkitRoots() []string { return nil }

func libraryFolders() []string { return nil }
