// Command cudagen generates part of package driver/cu from NVIDIA's headers: the Driver's
// methods, types, enums and constants.
//
//	go run -C tools ./cudagen -header /usr/local/cuda/include -out ../driver/cu
//
// With -check it writes nothing and fails if a file would change. With -layout it prints a C
// program to compile against the same headers. That program prints the sizes, offsets and values
// that the tests of driver/cu expect.
//
// cuda.h and cudaProfiler.h define the API: its functions, their ABIs, and the groups of NVIDIA's
// manual. The generator also parses them with the macros of the driver's own build, which add the
// older ABIs. cudaTypedefs.h states the version of every ABI. The generator copies names, numbers,
// types and layouts from the headers, but no text.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	header := flag.String("header", "/usr/local/cuda/include", "the directory with cuda.h")
	out := flag.String("out", "../driver/cu", "the directory to write to")
	check := flag.Bool("check", false, "write nothing, fail if a file would change")
	layout := flag.Bool("layout", false, "print the C program that prints the layouts")
	flag.Parse()
	if err := run(*header, *out, *check, *layout); err != nil {
		fmt.Fprintln(os.Stderr, "cudagen:", err)
		os.Exit(1)
	}
}

func run(header, out string, check, layout bool) error {
	a, err := load(header)
	if err != nil {
		return err
	}
	if layout {
		_, err := os.Stdout.Write(layoutProgram(a))
		return err
	}
	fs, err := generate(a)
	if err != nil {
		return err
	}
	if check {
		return compare(fs, out)
	}
	if err := os.MkdirAll(filepath.Join(out, "testdata"), 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		if err := os.WriteFile(filepath.Join(out, name), fs[name], 0o644); err != nil {
			return err
		}
	}
	stale, err := leftovers(fs, out)
	if err != nil {
		return err
	}
	for _, name := range stale {
		if err := os.Remove(filepath.Join(out, name)); err != nil {
			return err
		}
	}
	return nil
}

// compare returns an error if the generated files in out differ from fs.
func compare(fs files, out string) error {
	different, err := leftovers(fs, out)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		have, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || !bytes.Equal(have, fs[name]) {
			different = append(different, name)
		}
	}
	if len(different) > 0 {
		return fmt.Errorf("%s is not what the headers give: %s", out, strings.Join(different, ", "))
	}
	return nil
}

// leftovers returns the generated files in out that the generator no longer writes.
func leftovers(fs files, out string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(out, "zz_*.go"))
	if err != nil {
		return nil, err
	}
	var stale []string
	for _, path := range found {
		if name := filepath.Base(path); fs[name] == nil {
			stale = append(stale, name)
		}
	}
	return stale, nil
}
