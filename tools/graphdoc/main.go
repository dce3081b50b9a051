// Command graphdoc writes two documents. docs/graph-functions.md has every graph, capture
// and user-object function of cuda.h, and the typed API that calls it.
// docs/driver-functions.md has all functions.
//
//	go run -C tools ./graphdoc -root ..
//
// With -check it writes nothing and fails if a file would change. With -complete it fails if some
// graph function has no caller in the typed API.
//
// The functions come from the table in package driver/cu, which is generated from cuda.h.
// Their callers come from the source of packages driver and graph: see calls.go.
package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/purecuda/cuda/tools/internal/doc"
)

// The files to write, relative to the root.
const (
	output       = "docs/graph-functions.md"
	outputDriver = "docs/driver-functions.md"
)

func main() {
	complete := flag.Bool("complete", false, "fail if no typed API calls some function")
	doc.Main("graphdoc", func(root string, check bool) error { return run(root, check, *complete) })
}

func run(root string, check, complete bool) error {
	c, err := callsOf(root)
	if err != nil {
		return err
	}
	t, err := tableOf(c, functions)
	if err != nil {
		return err
	}
	all, err := tableOf(c, driverFunctions)
	if err != nil {
		return err
	}
	err = errors.Join(
		doc.Write(filepath.Join(root, output), t.markdown(), check, "make docs"),
		doc.Write(filepath.Join(root, outputDriver), all.driverMarkdown(), check, "make docs"))
	if complete {
		err = errors.Join(err, t.complete())
	}
	return err
}

func tableOf(c *calls, functions func() ([]function, error)) (table, error) {
	fs, err := functions()
	if err != nil {
		return nil, err
	}
	return fill(fs, c), nil
}

// callsOf reads the packages of the typed API and the packages that they share, and records the
// calls in all of them.
func callsOf(root string) (*calls, error) {
	names, err := users(root, "driver/cu", "driver", "graph", "graph/cache", "graph/callable")
	if err != nil {
		return nil, err
	}
	pkgs, err := load(root, names...)
	if err != nil {
		return nil, err
	}
	return read(pkgs), nil
}

// complete returns an error that lists the functions without a caller in the typed API.
func (t table) complete() error {
	var missing []string
	for _, r := range t {
		if len(r.api) == 0 {
			missing = append(missing, r.name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("no typed API calls %s", strings.Join(missing, ", "))
}
