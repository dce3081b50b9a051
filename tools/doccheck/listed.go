package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// notRun lists the examples that no test runs, with the reason. All others must have an output
// comment that Go recognises. If "// Output:" directly follows another comment line, it is part of
// that comment, so Go compiles the example but never runs it.
var notRun = map[string]string{
	"github.com/purecuda/cuda/ptx/nvrtc.Example":         "what it prints depends on whether NVRTC is installed",
	"github.com/purecuda/cuda/ptx/nvrtc.ExampleNewCache": "writes into the working directory where NVRTC is installed",
}

// listed returns an error for examples in the sources of a module, and of the modules in its
// internal folders, that "go test" does not run, except for the examples in exempt. It also returns
// the number of examples.
func listed(root string, exempt map[string]string) (int, error) {
	modules, err := internalModules(root)
	if err != nil {
		return 0, err
	}
	written, run := map[string]string{}, map[string]bool{}
	for _, dir := range append(modules, root) {
		in, err := examplesWritten(dir)
		if err != nil {
			return 0, err
		}
		if len(in) == 0 {
			continue
		}
		ran, err := examplesRun(dir, packagesOf(in))
		if err != nil {
			return 0, err
		}
		maps.Copy(written, in)
		maps.Copy(run, ran)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(written)) {
		switch reason, ok := exempt[name]; {
		case ok && run[name]:
			errs = append(errs, fmt.Errorf("%s: %s is run, and need not be exempt (%s)", written[name], name, reason))
		case !ok && !run[name]:
			errs = append(errs, fmt.Errorf(`%s: %s is never run: put an empty line before its "// Output:", or add one`, written[name], name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(exempt)) {
		if written[name] == "" {
			errs = append(errs, fmt.Errorf("%s is exempt, and there is no such example", name))
		}
	}
	return len(run), errors.Join(errs...)
}

// internalModules returns the folders of modules below root that are in internal folders.
func internalModules(root string) (dirs []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || path != root && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(root, path)
		if d.Name() == "go.mod" && slices.Contains(strings.Split(filepath.ToSlash(rel), "/"), "internal") {
			dirs = append(dirs, filepath.Dir(path))
		}
		return err
	})
	return dirs, err
}

// examplesWritten returns the positions of all examples in the sources, by import path and
// name.
func examplesWritten(root string) (map[string]string, error) {
	out, err := goCommand(root, "list", "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles", "./...")
	if err != nil {
		return nil, err
	}
	written := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir, ImportPath           string
			TestGoFiles, XTestGoFiles []string
		}
		switch err := dec.Decode(&p); {
		case err == io.EOF:
			return written, nil
		case err != nil:
			return nil, err
		}
		for _, name := range append(p.TestGoFiles, p.XTestGoFiles...) {
			if err := examplesIn(filepath.Join(p.Dir, name), p.ImportPath, written); err != nil {
				return nil, err
			}
		}
	}
}

func examplesIn(file, pkg string, written map[string]string) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && strings.HasPrefix(d.Name.Name, "Example") && d.Type.Params.NumFields() == 0 {
			written[pkg+"."+d.Name.Name] = fset.Position(d.Pos()).String()
		}
	}
	return nil
}

func packagesOf(examples map[string]string) []string {
	pkgs := map[string]bool{}
	for name := range examples {
		pkgs[name[:strings.LastIndexByte(name, '.')]] = true
	}
	return slices.Sorted(maps.Keys(pkgs))
}

// examplesRun returns the examples that "go test -list" prints.
func examplesRun(root string, pkgs []string) (map[string]bool, error) {
	out, err := goCommand(root, append([]string{"test", "-vet=off", "-json", "-list", "^Example"}, pkgs...)...)
	if err != nil {
		return nil, err
	}
	run := map[string]bool{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var e struct{ Action, Package, Output string }
		switch err := dec.Decode(&e); {
		case err == io.EOF:
			return run, nil
		case err != nil:
			return nil, err
		case e.Action == "output" && strings.HasPrefix(e.Output, "Example"):
			run[e.Package+"."+strings.TrimSpace(e.Output)] = true
		}
	}
}

func goCommand(root string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr, cmd.Env = root, &stderr, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s%s", args[0], err, out, &stderr)
	}
	return out, nil
}
