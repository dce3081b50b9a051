// Package kernels provides an analyzer that checks kernels in Go with the compiler go2ptx.
package kernels

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzer reports the errors of go2ptx in packages with kernels, at the positions given by go2ptx.
// It runs the go command in the directory of the package.
var Analyzer = &analysis.Analyzer{
	Name: "go2ptx",
	Doc:  "report what the compiler of kernels rejects, and generated files that are not up to date",
	URL:  "https://pkg.go.dev/github.com/purecuda/cuda/ptx/cmd/go2ptxvet",
	Run:  run,
}

// format is the version of the go2ptx -json output that this analyzer supports.
const format = 1

// output is the output of go2ptx -json.
type output struct {
	Format int
	Errors []problem
	Stale  []string // paths of generated files
}

type problem struct {
	File         string // path of the file
	Line, Column int
	Message      string
}

const command = "github.com/purecuda/cuda/ptx/cmd/go2ptx"

func run(pass *analysis.Pass) (any, error) {
	kernel := firstKernel(pass)
	if kernel == token.NoPos {
		return nil, nil
	}
	out, err := check(filepath.Dir(pass.Fset.Position(kernel).Filename))
	if err != nil {
		pass.Reportf(kernel, "the kernels cannot be checked: %v", err)
		return nil, nil
	}
	for _, p := range out.Errors {
		pos, ok := place(pass, p)
		if !ok { // the problem is in another package
			pass.Reportf(kernel, "%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
			continue
		}
		pass.Reportf(pos, "%s", p.Message)
	}
	for _, name := range out.Stale {
		pass.Reportf(kernel, "%s is not up to date: run go generate", filepath.Base(name))
	}
	return nil, nil
}

// firstKernel returns the position of the name of the first kernel that is not in a test file.
func firstKernel(pass *analysis.Pass) token.Pos {
	for _, f := range pass.Files {
		if strings.HasSuffix(pass.Fset.Position(f.Package).Filename, "_test.go") {
			continue
		}
		for _, d := range f.Decls {
			fun, ok := d.(*ast.FuncDecl)
			if !ok || fun.Doc == nil {
				continue
			}
			for _, c := range fun.Doc.List {
				if strings.HasPrefix(c.Text, "//gpu:kernel") {
					return fun.Name.Pos()
				}
			}
		}
	}
	return token.NoPos
}

// check runs go2ptx from the module that contains the directory.
func check(dir string) (*output, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("go", "run", command, "-json", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=", "GOARCH=") // build the command for this machine
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if text := stderr.String(); strings.Contains(text, "flag provided but not defined: -json") {
		return nil, fmt.Errorf("the version of github.com/purecuda/cuda in go.mod is too old for go2ptxvet")
	}
	if err != nil {
		return nil, fmt.Errorf("go run %s: %w: %s", command, err, bytes.TrimSpace(stderr.Bytes()))
	}
	var out output
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		return nil, fmt.Errorf("go run %s -json: %w", command, err)
	}
	if out.Format != format {
		return nil, fmt.Errorf("go2ptx has output of format %d and this is for format %d: install the latest go2ptxvet", out.Format, format)
	}
	return &out, nil
}

// place returns the position of a problem, if it is in a file of the pass.
func place(pass *analysis.Pass, p problem) (token.Pos, bool) {
	want, err := os.Stat(p.File)
	if err != nil {
		return token.NoPos, false
	}
	for _, f := range pass.Files {
		file := pass.Fset.File(f.FileStart)
		have, err := os.Stat(file.Name())
		if err != nil || !os.SameFile(want, have) || p.Line < 1 || p.Line > file.LineCount() {
			continue
		}
		pos := int(file.LineStart(p.Line)) + max(p.Column-1, 0)
		return token.Pos(min(pos, file.Base()+file.Size())), true
	}
	return token.NoPos, false
}
