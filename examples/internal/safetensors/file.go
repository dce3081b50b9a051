// Package safetensors reads and writes files of the safetensors format: a JSON
// header that names tensors, and then their bytes
// (https://huggingface.co/docs/safetensors). It checks
// everything that a file claims: tensors always lie within the file.
package safetensors

import (
	"fmt"
	"os"
	"slices"
)

// File is the contents of a file.
type File struct {
	Metadata map[string]string // free text, often none
	tensors  map[string]Tensor

	seenMetadata bool
}

// Read reads the file called path.
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

// Tensor returns the tensor with that name, if there is one.
func (f *File) Tensor(name string) (t Tensor, ok bool) {
	t, ok = f.tensors[name]
	return t, ok
}
