// Command graphdoc writes docs/graph-functions.md: every graph, capture and
// user-object function of cuda.h with the typed API that calls it.
//
//	go run -C tools/graphdoc . -root ../..
//
// With -check it writes nothing and fails if the file would change. With
// -complete it fails if there is a function that no typed API calls.
//
// The functions come from the table in package driver, which is generated from
// cuda.h. What calls them is read from the source of packages driver and graph:
// see calls.go.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// output is the file that is written, below the root.
const output = "docs/graph-functions.md"

func main() {
	root := flag.String("root", "../..", "the folder of the library's module")
	check := flag.Bool("check", false, "write nothing, fail if the file would change")
	complete := flag.Bool("complete", false, "fail if no typed API calls some function")
	flag.Parse()
	if err := run(*root, *check, *complete); err != nil {
		fmt.Fprintln(os.Stderr, "graphdoc:", err)
		os.Exit(1)
	}
}

func run(root string, check, complete bool) error {
	t, err := tableOf(root)
	if err != nil {
		return err
	}
	path := filepath.Join(root, output)
	if check {
		err = compare(path, t.markdown())
	} else {
		err = os.WriteFile(path, t.markdown(), 0o644)
	}
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
	pkgs, err := load(root, "driver", "graph")
	if err != nil {
		return nil, err
	}
	return fill(fs, read(pkgs)), nil
}

func compare(path string, want []byte) error {
	got, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s is not what the code says: make docs", output)
	}
	return nil
}

// complete says which functions no typed API calls.
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
