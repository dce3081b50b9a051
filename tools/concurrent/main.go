// Command concurrent prints the packages of a module that involve concurrency in their code or
// tests. Signs of concurrency are a go statement, a channel, package sync or sync/atomic, and
// parallel tests. The race detector runs on these packages.
//
//	go run -C tools ./concurrent -root .. [-without FOLDER,...] [IMPORT PATH ...]
//
// It also prints the import paths given as arguments. Use them for packages that share memory only
// through the packages that they call. It leaves out the packages in the folders that -without
// lists, some of which may belong to other modules. It fails if a given package or folder does not
// exist.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", ".", "the root of the module")
	without := flag.String("without", "", "folders of packages to leave out, with commas between them")
	flag.Parse()
	paths, err := packages(*root, flag.Args(), strings.FieldsFunc(*without, func(c rune) bool { return c == ',' }))
	if err != nil {
		fmt.Fprintln(os.Stderr, "concurrent:", err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(paths, "\n"))
}

type listed struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// packages returns the import paths of the concurrent packages that are not in the folders without,
// and the paths in also.
func packages(root string, also, without []string) ([]string, error) {
	var left []os.FileInfo
	for _, folder := range without {
		info, err := os.Stat(folder)
		if err != nil {
			return nil, err
		}
		left = append(left, info)
	}
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.Bytes())
	}
	missing := slices.Clone(also)
	var paths []string
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		found := slices.Contains(also, p.ImportPath)
		missing = slices.DeleteFunc(missing, func(path string) bool { return path == p.ImportPath })
		if len(left) > 0 {
			here, err := os.Stat(p.Dir)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(left, func(other os.FileInfo) bool { return os.SameFile(here, other) }) {
				continue
			}
		}
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			if found {
				break
			}
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			found = concurrent(f)
		}
		if found {
			paths = append(paths, p.ImportPath)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("there is no package %s", strings.Join(missing, ", "))
	}
	return paths, nil
}

// concurrent reports whether a file has a sign of concurrency.
func concurrent(f *ast.File) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			found = found || n.Path.Value == `"sync"` || n.Path.Value == `"sync/atomic"`
		case *ast.GoStmt, *ast.ChanType:
			found = true
		case *ast.SelectorExpr:
			found = found || n.Sel.Name == "Parallel" || n.Sel.Name == "RunParallel"
		}
		return !found
	})
	return found
}
