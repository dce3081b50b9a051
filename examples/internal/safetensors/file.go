// Package safetensors reads and writes files of the safetensors format: a JSON
// header that names tensors, and then their bytes
// (https://huggingface.co/docs/safetensors). It believes nothing that a file
// says: what it returns lies within the file.
package safetensors

import (
	"fmt"
	"os"
	"slices"
)

// File is what a file holds.
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

// Names are the names of the tensors, sorted.
func (f *File) Names() []string {
	names := make([]string, 0, len(f.tensors))
	for name := range f.tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Tensor is the tensor of that name, if there is one.
func (f *File) Tensor(name string) (t Tensor, ok bool) {
	t, ok = f.tensors[name]
	return t, ok
}
