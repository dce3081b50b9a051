// Command graphdoc writes docs/graph-functions.md: every graph, capture and
// user-object function of cuda.h with the typed API that calls it.
//
//	go run -C tools ./graphdoc -root ..
//
// With -check it writes nothing and fails if the file would change. With
// -complete it fails if there is a function that no typed API calls.
//
// The functions come from the table in package driver/cu, which is generated from
// cuda.h. Their callers come from the source of packages driver and graph: see
// calls.go.
package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/purecuda/cuda/tools/internal/doc"
)

// output is the file to write, below the root.
const output = "docs/graph-functions.md"

func main() {
	complete := flag.Bool("complete", false, "fail if no typed API calls some function")
	doc.Main("graphdoc", func(root string, check bool) error { return run(root, check, *complete) })
}

func run(root string, check, complete bool) error {
	t, err := tableOf(root)
	if err != nil {
		return err
	}
	err = doc.Write(filepath.Join(root, output), t.markdown(), check, "make docs")
	if complete {
		err = errors.Join(err, t.complete())
	}
	return err
}

func tableOf(root string) (table, error) {
	fs, err := functions()
	if err != nil {
		return nil, err
	}
	pkgs, err := load(root, "driver/cu", "driver", "graph/internal/refusal", "graph", "graph/cache", "graph/callable")
	if err != nil {
		return nil, err
	}
	return fill(fs, read(pkgs)), nil
}

// complete returns an error that names the functions without typed API.
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
