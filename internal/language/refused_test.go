package language_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/language"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

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
