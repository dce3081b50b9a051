// Command docsnip copies code into documents from files that tests compile and run, so
// that no document can show code that does not work.
//
//	go run -C tools ./docsnip -root ..           # write the documents
//	go run -C tools ./docsnip -root .. -check    # fail if one would change
//
// A document says where a code block comes from on the line before it:
//
//	<!-- snippet: examples/04-capture/main.go#capture -->
//	```go
//	...
//	```
//
// The part called capture is between the lines "// [capture]" and "// [end]" of that
// file. Parts can be nested, and the marker lines are not shown. Several parts with one
// name are shown one after another, separated by an empty line. Without a name it is
// the whole file. Files can be in any language: a marker may also begin with #.
//
// The output of an example in a test file is shown by the example's name:
//
//	<!-- snippet: internal/snippets/kernels_test.go#Example_kernelsWrong/output -->
//
// Every Go block must have such a line. If code is not from this repository, the line
// says so and what it is:
//
//	<!-- snippet: none: how a program with cgo does it -->
//
// Figures and output that a document repeats from another one are also checked: see
// quoted.go.
//
// By default, all Markdown files of the repository are processed, otherwise those that
// are named.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/purecuda/cuda/tools/internal/doc"
)

func main() {
	root := flag.String("root", "..", "the folder of the library's module")
	check := flag.Bool("check", false, "write nothing, fail if a document would change")
	flag.Parse()
	if err := run(*root, flag.Args(), *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run updates all documents, or reports which are out of date. It continues after an
// error, so that all errors are reported at once.
func run(root string, names []string, check bool) error {
	if len(names) == 0 {
		var err error
		if names, err = doc.Documents(root); err != nil {
			return err
		}
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, update(root, name, check))
	}
	return errors.Join(errs...)
}

func update(root, name string, check bool) error {
	path := filepath.Join(root, filepath.FromSlash(name))
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := rewrite(name, string(old), source{root: root}.part)
	if err = errors.Join(append(quoted(root, name, text), err)...); err != nil || bytes.Equal(old, []byte(text)) {
		return err
	}
	return doc.Write(path, []byte(text), check, "make docs")
}
