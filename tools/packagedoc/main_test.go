package main

import (
	"strings"
	"testing"
)

// If a path of several arrows implies an import, the diagram must have no arrow for it, but the
// table must list it.
func TestArrowsAreThoseThatNothingElseShows(t *testing.T) {
	text := markdown(map[string]pkg{
		"a":          {path: "a", about: "Package a is the first.", imports: []string{"b", "internal/c"}},
		"b":          {path: "b", about: "Package b is between.", imports: []string{"internal/c"}},
		"internal/c": {path: "internal/c", about: "Package c is the last."},
	})
	for _, want := range []string{
		"p_a --> p_b\n", "p_b --> p_internal_c\n", "class p_internal_c internal\n",
		"| [`a`](../../a) | is the first. | `b`, `internal/c` |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q", want)
		}
	}
	if strings.Contains(text, "p_a --> p_internal_c") {
		t.Error("an arrow shows what two others show")
	}
}

func TestPackagesAreThoseThatProgramsImport(t *testing.T) {
	all, err := list("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"loader", "driver/cu", "driver", "graph", "ptx", "driver/emulator/internal/vm"} {
		if all[path].about == "" {
			t.Errorf("%s is missing, or has no documentation", path)
		}
	}
	for path := range all {
		if strings.HasPrefix(path, "examples/") || strings.HasPrefix(path, "internal/gputest") {
			t.Errorf("%s is no part of the library", path)
		}
	}
}
