// Command errordoc writes docs/error-codes.md, with every code that the driver can return
// and its explanation from package driver.
//
//	go run -C tools ./errordoc -root ..
//
// With -check it writes nothing and fails if the file would change.
package main

import (
	"errors"
	"path/filepath"

	"github.com/purecuda/cuda/tools/internal/doc"
)

const output = "docs/error-codes.md"

func main() { doc.Main("errordoc", run) }

func run(root string, check bool) error {
	cs := codes()
	err := doc.Write(filepath.Join(root, output), markdown(cs), check, "make docs")
	if check {
		err = errors.Join(complete(cs), err)
	}
	return err
}
