// Package safetensors reads and writes safetensors files: a JSON header that names tensors, and
// then their bytes (https://huggingface.co/docs/safetensors). It rejects files with invalid
// headers, for example if a tensor is not within the file.
package safetensors

import (
	"fmt"
	"os"
	"slices"
)

// File is the contents of a file.
type File struct {
	Metadata map[string]string // free text, often absent
	tensors  map[string]Tensor

	seenMetadata bool
}

// Read reads the named file.
func Read(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Names returns the sorted names of the tensors.
func (f *File) Names() []string {
	names := make([]string, 0, len(f.tensors))
	for name := range f.tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Tensor returns the named tensor, and whether the file contains it.
func (f *File) Tensor(name string) (t Tensor, ok bool) {
	t, ok = f.tensors[name]
	return t, ok
}
