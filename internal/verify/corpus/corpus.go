// Package corpus is a set of small CUDA programs, with the PTX that nvcc generates for them and
// functions to run them. Tests use it to run the parser, the printer and the emulator on real
// compiler output. Only tests may import it.
//
// The sources are in cuda/. Lines that begin with "//@" describe how to run the kernels (see
// [Step]). The PTX is in testdata/, one archive per [Build], created by scripts/corpus.sh with nvcc
// 13.0. The kernels' results on an H200 are in testdata/h200-results.json.
package corpus

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed cuda/*.cu
var cudaFiles embed.FS

// Source is a CUDA source file.
type Source struct {
	Name  string // file name without ".cu"
	Text  string
	Steps []Step // executed in order in one loaded module
}

// Sources returns all sources, sorted by name.
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
