// Command timeline draws docs/pictures/launches-and-graph.svg. The picture shows when the host and
// the device are busy during one step of the quickstart, with stream launches and with a graph.
//
//	go run -C tools ./timeline -root ..           # write the picture
//	go run -C tools ./timeline -root .. -check    # fail if it would change
//
// It reads two times from docs/results/h200-driver-580.md: how long the host is busy, and when the
// step is done. The times of single kernels were not measured, so all kernels have the same length
// in the picture.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/purecuda/cuda/tools/internal/doc"
)

const (
	results = "docs/results/h200-driver-580.md"
	drawing = "docs/pictures/launches-and-graph.svg"
)

func main() { doc.Main("timeline", run) }

func run(root string, check bool) error {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(results)))
	if err != nil {
		return err
	}
	f, err := read(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", results, err)
	}
	return doc.Write(filepath.Join(root, filepath.FromSlash(drawing)), []byte(draw(f)), check, "make docs")
}

type figures struct {
	kernels, copies int
	launches, graph way
}

func (f figures) operations() int { return f.kernels + f.copies }

// A way holds two times in µs for one way of running a step: how long the host is busy, and when
// the step is done.
type way struct{ host, wall float64 }

var (
	countPattern    = regexp.MustCompile(`(?m)^\d+ blocks, .*: (\d+) kernels and (\d+) copies a step`)
	launchesPattern = regexp.MustCompile(`(?m)^stream launches +([\d.]+) µs +([\d.]+) µs`)
	graphPattern    = regexp.MustCompile(`(?m)^captured graph +([\d.]+) µs +([\d.]+) µs`)
)

func read(text string) (f figures, err error) {
	kernels, copies, err1 := pair(countPattern, text)
	f.kernels, f.copies = int(kernels), int(copies)
	var err2, err3 error
	f.launches.host, f.launches.wall, err2 = pair(launchesPattern, text)
	f.graph.host, f.graph.wall, err3 = pair(graphPattern, text)
	return f, errors.Join(err1, err2, err3)
}

// pair returns the two numbers in the first match of p.
func pair(p *regexp.Regexp, text string) (a, b float64, err error) {
	m := p.FindStringSubmatch(text)
	if m == nil {
		return 0, 0, fmt.Errorf("no line matches %v", p)
	}
	a, err1 := strconv.ParseFloat(m[1], 64)
	b, err2 := strconv.ParseFloat(m[2], 64)
	return a, b, errors.Join(err1, err2)
}
