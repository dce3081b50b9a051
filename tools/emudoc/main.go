// Command emudoc writes three documents. docs/emulator-functions.md lists the emulator's support
// for each driver function, and where its results differ from those that a driver returns on a GPU.
// docs/emulator-instructions.md lists its support for each instruction form.
// docs/ptx-instructions.md has the table of package isa.
//
//	go run -C tools ./emudoc -root ..
//
// With -check it writes nothing and fails if a file would change, or if the emulator lacks a
// function.
//
// The functions come from the table in package driver/cu, which is generated from cuda.h. The
// command queries the emulator for each function. The results that differ come from the test data
// in driver/emulator/testdata.
package main

import (
	"errors"
	"path/filepath"

	"github.com/purecuda/cuda/tools/internal/doc"
)

// The files to write, relative to the root.
const (
	output             = "docs/emulator-functions.md"
	outputInstructions = "docs/emulator-instructions.md"
	outputRules        = "docs/ptx-instructions.md"
)

func main() { doc.Main("emudoc", run) }

func run(root string, check bool) error {
	fs, err := functions()
	if err != nil {
		return err
	}
	answers, err := readAnswers(filepath.Join(root, "driver/emulator/testdata"))
	if err != nil {
		return err
	}
	ps, err := patterns()
	if err != nil {
		return err
	}
	errs := []error{
		doc.Write(filepath.Join(root, output), markdown(fs, answers), check, "make docs"),
		doc.Write(filepath.Join(root, outputInstructions), instructions(ps), check, "make docs"),
		doc.Write(filepath.Join(root, outputRules), rules(), check, "make docs"),
	}
	if check {
		errs = append(errs, complete(fs))
	}
	return errors.Join(errs...)
}
