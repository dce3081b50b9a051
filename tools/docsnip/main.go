// Command docsnip copies code into documents, out of files that are compiled
// and run by tests, so that no document can show code that does not work.
//
//	go run -C tools ./docsnip -root ..           # write the documents
//	go run -C tools ./docsnip -root .. -check    # fail if one would change
//
// A document says where a block of code comes from on the line before it:
//
//	<!-- snippet: examples/04-capture/main.go#capture -->
//	```go
//	...
//	```
//
// The part called capture lies in that file between the lines "// [capture]"
// and "// [end]"; parts may lie in one another, and the lines that mark them
// are not shown. Several parts under one name are shown one after another with
// an empty line between. Without a name it is the whole file. Files of any
// language will do: a mark may also begin with #.
//
// What an example of a test file prints is shown by its name:
//
//	<!-- snippet: internal/snippets/kernels_test.go#Example_kernelsWrong/output -->
//
// Every block of Go must have such a line. Code that is shown because it is not
// ours says so, with what it is:
//
//	<!-- snippet: none: how a program with cgo does it -->
//
// Figures and output that a document repeats from another one are checked too:
// see quoted.go.
//
// The documents are the Markdown files that are named, by default all of the
// repository.
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

// run brings all documents up to date, or says which are not. It goes on after
// an error, so that all are seen at once.
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
