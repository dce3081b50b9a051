package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryCodeHasATextAndALine(t *testing.T) {
	cs := codes()
	if err := complete(cs); err != nil {
		t.Error(err)
	}
	text := string(markdown(cs))
	for _, line := range []string{"| 0 | `CUDA_SUCCESS` |  | ", "| 700 | `CUDA_ERROR_ILLEGAL_ADDRESS` | \\* | ",
		"| 200 | `CUDA_ERROR_INVALID_IMAGE` |  | ", "| 226 | `CUDA_ERROR_CONTAINED` | \\* | ",
		"| 901 | `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` |  | ", "| 999 | `CUDA_ERROR_UNKNOWN` |  | "} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("no line begins with %q", line)
		}
	}
}

func TestCodesWithoutATextAreNamed(t *testing.T) {
	err := complete([]code{{7, "CUDA_ERROR_SILENT", ""}})
	if err == nil || !strings.Contains(err.Error(), "CUDA_ERROR_SILENT (7)") {
		t.Error(err)
	}
}

func TestTheDocumentIsWrittenAndChecked(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if run(root, true) == nil {
		t.Error("a document that is not there passes")
	}
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	if err := run(root, true); err != nil {
		t.Error(err)
	}
	path := filepath.Join(root, output)
	if err := os.WriteFile(path, []byte("# old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(root, true); err == nil || !strings.Contains(err.Error(), "make docs") {
		t.Error(err)
	}
}
