package doc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestDocumentsAreWrittenOrCompared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.md")
	if err := Write(path, []byte("a\nb\n"), true, "make docs"); !os.IsNotExist(err) {
		t.Errorf("a document that is not there: %v", err)
	}
	if err := Write(path, []byte("a\nb\n"), false, "make docs"); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("a\nb\n"), true, "make docs"); err != nil {
		t.Error(err)
	}
	err := Write(path, []byte("a\nc\n"), true, "make docs")
	if err == nil || !strings.HasSuffix(err.Error(), "d.md:2: this is not what the code says: make docs") {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); string(text) != "a\nb\n" || err != nil {
		t.Errorf("a check wrote %q, %v", text, err)
	}
}

func TestDocumentsAreFound(t *testing.T) {
	root := t.TempDir()
	if names, err := Documents(root); err == nil {
		t.Errorf("in an empty folder: %q", names)
	}
	for _, name := range []string{"README.md", "docs/a.md", "docs/results/b.md", "docs/c.txt", "build/d.md", "bundle/e.md", ".hidden/f.md"} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	names, err := Documents(root)
	if want := []string{"README.md", "docs/a.md", "docs/results/b.md"}; !slices.Equal(names, want) || err != nil {
		t.Errorf("%q, %v", names, err)
	}
}

func TestBlocksOfCode(t *testing.T) {
	lines := strings.Split("````go x\n```\na\n````` \n```one line```\n``\n```", "\n")
	fence, language, ok := Fence(lines[0])
	if fence != "````" || language != "go" || !ok || End(lines, 0, fence) != 3 {
		t.Errorf("%q, %q, %v, ends at %d", fence, language, ok, End(lines, 0, fence))
	}
	for i, opens := range map[int]bool{4: false, 5: false, 6: true} {
		if _, _, ok := Fence(lines[i]); ok != opens {
			t.Errorf("%q opens a block: %v", lines[i], ok)
		}
	}
	if end := End(lines, 6, "```"); end != -1 {
		t.Errorf("a block without an end ends at %d", end)
	}
}
