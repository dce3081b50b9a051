package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func repository(t *testing.T, text string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"README.md":      text,
		"docs/other.md":  "# Other things\n\n## `code` and [a link](../x.go)\n",
		"x.go":           "package x\n\n",
		".hidden/bad.md": "[x](nowhere)\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestGoodLinksPass(t *testing.T) {
	const text = "# Here\n" +
		"[a](docs/other.md), [b](docs), [c](docs/other.md#other-things) [d](#here) [e](x.go#L2)\n" +
		"[f](docs/other.md#code-and-a-link) ![g](x.go \"title\") [h](https://go.dev/x?y=z#frag) [r]\n" +
		"`[not](a-link)` ``[nor](this)``\n\n" +
		"```\n[nor](this one)\n# no heading\n```\n\n[r]: docs/other.md\n"
	root := repository(t, text)
	c := &checker{root: root, read: map[string]*document{}}
	c.check("README.md")
	if c.links != 9 || len(c.errs) != 0 {
		t.Errorf("%d links, %v", c.links, c.errs)
	}
	if err := run(root); err != nil {
		t.Error(err)
	}
}

func TestBrokenLinksAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"\n[a](docs/none.md)\n":        "README.md:2: link to docs/none.md: there is no docs/none.md",
		"[a](docs/Other.md)\n":         "there is no docs/Other.md",
		"[a](../x)\n":                  "it leads out of the repository",
		"[a](#none)\n":                 "README.md has no heading of this name",
		"[a](docs/other.md#none)\n":    "docs/other.md has no heading",
		"[a](x.go#L9)\n":               "x.go has 2 lines",
		"[a](x.go#none)\n":             "x.go is not a document with headings",
		"[a](http://go.dev)\n":         "it is not https",
		"[a](https://nowhere)\n":       "is not one of the web",
		"<https://me@go.dev>\n":        "is not one of the web",
		"x [r]\n\n[r]: docs/none.md\n": "there is no docs/none.md",
	} {
		if err := run(repository(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestHeadingsGetAnchors(t *testing.T) {
	d := parse("# What `Op`, isn't!\n## Same\n## Same\n### a_b-c 1.2 ###\n")
	got := slices.Sorted(maps.Keys(d.anchors))
	if want := []string{"a_b-c-12", "same", "same-1", "what-op-isnt"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
