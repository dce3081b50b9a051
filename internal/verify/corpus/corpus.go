// Package corpus is a set of small CUDA programs, the PTX that nvcc compiles them to,
// and a way to run any of them. A parser, a printer and an emulator can be tested on a
// compiler's real output. It is for tests only.
//
// The sources are in cuda/. Lines that begin with "//@" say how to run their kernels;
// see [Step]. The PTX is in testdata/, one archive per [Build], made by
// scripts/corpus.sh with nvcc 13.0. The results of the kernels on an H200 are in
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
	Steps []Step // what to do with it, in this order, in one loaded module
}

// Sources reads all sources, sorted by name.
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

// ParseSource parses the steps in the text of a CUDA file.
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
