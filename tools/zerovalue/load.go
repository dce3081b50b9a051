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

type listed struct {
	ImportPath, Name, Export string
	DepOnly                  bool
}

// load returns the packages of the module that other modules may import.
func load(root string) ([]*types.Package, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Name,Export,DepOnly", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.Bytes())
	}
	exports := make(map[string]string)
	var paths []string
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly && public(p) {
			paths = append(paths, p.ImportPath)
		}
	}
	slices.Sort(paths)
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
