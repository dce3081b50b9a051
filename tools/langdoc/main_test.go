package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheDocumentIsWritten(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, output))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"| `func f() {} ⋯ go f()` | goroutines are not available in kernels: launch more threads |", "| `IfStmt` | ", "| `string +` | rejected: strings cannot be built",
		"| `BadExpr` | rejected as Go rejects it |", "| `//gpu:kernel block=64x64` | block=64x64 is 4096 in all"} {
		if !strings.Contains(string(text), "\n"+line) {
			t.Errorf("no line begins with %q", line)
		}
	}
}
