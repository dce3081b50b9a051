package language_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/language"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

// fromGo returns a function that reads packages of the Go distribution.
func fromGo(t *testing.T) func(path string) (go2ptx.Package, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(strings.TrimSpace(string(out)), "src")
	return func(path string) (go2ptx.Package, error) {
		p := go2ptx.Package{Path: path}
		names, err := filepath.Glob(filepath.Join(src, filepath.FromSlash(path), "*.go"))
		if err != nil || len(names) == 0 {
			return p, fmt.Errorf("there is no package %s: %v", path, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				return p, err
			}
			p.Files = append(p.Files, go2ptx.File{Name: path + "/" + filepath.Base(name), Data: data})
		}
		return p, nil
	}
}

// For each call to a function in the Go distribution, the compiler must report exactly one error,
// at the call in the kernel.
func TestRefusedGoCalls(t *testing.T) {
	source := fromGo(t)
	for _, r := range language.RefusedGo {
		t.Run(r.Code, func(t *testing.T) {
			text, line, column := r.Text()
			want := fmt.Sprintf("p.go:%d:%d: %s", line, column, r.Error)
			cfg := go2ptx.Config{Import: source, Package: go2ptx.Package{Path: "p", Files: []go2ptx.File{{Name: "p.go", Data: []byte(text)}}}}
			if _, err := go2ptx.Compile(cfg); err == nil || err.Error() != want {
				t.Errorf("the errors are\n%v\nwant\n%s", err, want)
			}
		})
	}
}

// For each piece of code, the compiler must report the expected message at the expected position.
func TestRefusals(t *testing.T) {
	for _, r := range slices.Concat(language.Refused, language.RefusedFiles) {
		t.Run(r.Code, func(t *testing.T) {
			text, line, column := r.Text()
			cfg := go2ptx.Config{PTXFile: "p_gpu.ptx", Package: go2ptx.Package{Path: "p"}}
			name := "p.go"
			for _, part := range strings.Split(text, "---\n") {
				cfg.Package.Files = append(cfg.Package.Files, go2ptx.File{Name: name, Data: []byte(part)})
				if n := strings.Count(part, "\n") + 1; line > n {
					line -= n
					name = "q.go"
				}
			}
			if r.Imports != "" {
				cfg.Import = fromGo(t)
			}
			_, err := go2ptx.Compile(cfg)
			var list go2ptx.Errors
			if !errors.As(err, &list) {
				t.Fatalf("the error is %v", err)
			}
			for _, e := range list {
				if e.Pos.Filename == name && e.Pos.Line == line && e.Pos.Column == column && (e.Msg == r.Error || r.Error == "" && e.Msg != "") {
					return
				}
			}
			t.Errorf("the errors are\n%v\nwant %s:%d:%d: %s", err, name, line, column, r.Error)
		})
	}
}
