// Command emudoc writes docs/emulator-functions.md: what the emulator does with
// each function of the driver, and where its answers differ from those of a
// driver on a GPU.
//
//	go run -C tools/emudoc . -root ../..
//
// With -check it writes nothing and fails if the file would change, or if there
// is a function that the emulator does not have.
//
// The functions come from the table in package driver, which is generated from
// cuda.h; the emulator is asked for each. The answers that differ come from the
// test that compares them, see driver/emulator/testdata.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// output is the file that is written, below the root.
const output = "docs/emulator-functions.md"

func main() {
	root := flag.String("root", "../..", "the folder of the library's module")
	check := flag.Bool("check", false, "write nothing, fail if the file would change")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "emudoc:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	fs, err := functions()
	if err != nil {
		return err
	}
	answers, err := readAnswers(filepath.Join(root, "driver/emulator/testdata"))
	if err != nil {
		return err
	}
	text := markdown(fs, answers)
	path := filepath.Join(root, output)
	if !check {
		return os.WriteFile(path, text, 0o644)
	}
	return errors.Join(compare(path, text), complete(fs))
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
