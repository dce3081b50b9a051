// Command docsnip copies code into documents from files that tests compile and run. The code
// in the documents is therefore always tested.
//
//	go run -C tools ./docsnip -root ..           # write the documents
//	go run -C tools ./docsnip -root .. -check    # fail if one would change
//
// The line before a code block names the source of the code:
//
//	<!-- snippet: examples/04-capture/main.go#capture -->
//	```go
//	...
//	```
//
// In that file, the part called capture is between the lines "// [capture]" and "// [end]". Parts
// can be nested. The marker lines are omitted. Parts with the same name are shown in order,
// separated by an empty line. Without a part name, the whole file is shown. Files can be in any
// language: a marker may also begin with #.
//
// To show the output of an example in a test file, name the example:
//
//	<!-- snippet: internal/checks/snippets/kernels_test.go#Example_kernelsWrong/output -->
//
// Every Go block must have such a line. For code that is not from this repository, the line
// describes the code:
//
//	<!-- snippet: none: how a program with cgo does it -->
//
// Docsnip also checks figures and output that one document repeats from another. See
// quoted.go.
//
// It processes the named files, or all Markdown files of the repository if no file is named.
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

// run updates the documents or, with check, reports the outdated ones. It continues after an error,
// so that it reports all errors at once.
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
