// Package corpus is a set of small CUDA programs with the PTX that nvcc makes
// of them, and a way to run any of them: the text of a compiler is what a
// parser, a printer and an emulator are tried on. It is for tests only.
//
// The sources are in cuda/. Lines that begin with "//@" say how their kernels
// are run; see [Step]. The PTX is in testdata/, one archive per [Build], made
// by scripts/corpus.sh with nvcc 13.0. What the kernels wrote on an H200 is in
// testdata/h200-results.json.
package corpus

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed cuda/*.cu
var cudaFiles embed.FS

// Source is one CUDA file.
type Source struct {
	Name  string // without ".cu"
	Text  string
	Steps []Step // what is done with it, in this order, in one loaded module
}

// Sources reads all sources, in the order of their names.
func Sources() ([]*Source, error) {
	entries, err := cudaFiles.ReadDir("cuda")
	if err != nil {
		return nil, err
	}
	var all []*Source
	for _, e := range entries {
		text, err := cudaFiles.ReadFile(path.Join("cuda", e.Name()))
		if err != nil {
			return nil, err
		}
		src, err := ParseSource(strings.TrimSuffix(e.Name(), ".cu"), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, src)
	}
	return all, nil
}

// ParseSource reads the steps out of the text of a CUDA file.
func ParseSource(name, text string) (*Source, error) {
	src := &Source{Name: name, Text: text}
	line := 0
	for l := range strings.Lines(text) {
		line++
		directive, ok := strings.CutPrefix(strings.TrimSpace(l), "//@")
		if !ok {
			continue
		}
		step, err := parseStep(directive)
		if err != nil {
			return nil, fmt.Errorf("%s.cu:%d: %w", name, line, err)
		}
		src.Steps = append(src.Steps, step)
	}
	if len(src.Steps) == 0 {
		return nil, fmt.Errorf("%s.cu: no line says how to run it", name)
	}
	return src, nil
}
