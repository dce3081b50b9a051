package zerovalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

type listed struct{ ImportPath, Name, Export string }

// list runs go list in a folder.
func list(folder string, args ...string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.Bytes())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// load returns the packages of the module that other modules may import.
func load(root string) ([]*types.Package, error) {
	own, err := list(root, "-json=ImportPath,Name", "./...")
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, p := range own {
		if public(p) {
			paths = append(paths, p.ImportPath)
		}
	}
	slices.Sort(paths)
	// -export compiles the packages, so only those that are needed are listed with it.
	compiled, err := list(root, append([]string{"-export", "-deps", "-json=ImportPath,Export"}, paths...)...)
	if err != nil {
		return nil, err
	}
	exports := make(map[string]string)
	for _, p := range compiled {
		exports[p.ImportPath] = p.Export
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	imports := importer.ForCompiler(token.NewFileSet(), "gc", open)
	var all []*types.Package
	for _, path := range paths {
		p, err := imports.Import(path)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func public(p listed) bool {
	parts := strings.Split(p.ImportPath, "/")
	return p.Name != "main" && !slices.Contains(parts, "internal") && !slices.Contains(parts, "examples")
}
