package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestBuildsAreComparedWithinATurn(t *testing.T) {
	rows = []row{{name: "x", title: "call x"}, {name: "new", title: "call new"}}
	// The machine becomes twice as slow halfway through. Only the second build is slower, by
	// 3 %.
	same := of("x", map[string][]float64{before: {100, 100, 200}, inGo: {101, 101, 202}})
	slower := of("x", map[string][]float64{before: {100, 100, 200}, inGo: {103, 103, 206}})
	var text bytes.Buffer
	if !beforeReport(&text, same) {
		t.Errorf("1 %% slower does not pass:\n%s", &text)
	}
	if !strings.Contains(text.String(), "Not in both builds: call new.") {
		t.Errorf("the row of one build alone is not named:\n%s", &text)
	}
	text.Reset()
	if beforeReport(&text, slower) || !strings.Contains(text.String(), "| NO |") {
		t.Errorf("3 %% slower passes:\n%s", &text)
	}
	if beforeReport(&text, newResults()) {
		t.Error("a comparison of nothing passes")
	}
}
