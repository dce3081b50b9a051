package main

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
)

func TestEveryFunctionHasARow(t *testing.T) {
	fs, err := functions()
	if err != nil {
		t.Fatal(err)
	}
	if err := complete(fs); err != nil {
		t.Error(err)
	}
	text := string(markdown(fs, answers{}))
	rows := 0
	for f := range cu.Functions() {
		rows++
		if n := strings.Count(text, "` | `"+f.Symbol()+"` |"); n != 1 {
			t.Errorf("%s has %d rows", f.Symbol(), n)
		}
	}
	if rows != len(fs) || rows != 481 {
		t.Errorf("%d functions, %d of them described", rows, len(fs))
	}
}

func TestRefusedFunctionsSayWhatIsMissing(t *testing.T) {
	fs, err := functions()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fs {
		if (f.status == refused) != (f.missing != "") {
			t.Errorf("%v: status %d, missing %q", f, f.status, f.missing)
		}
	}
	if count(fs, refused) == 0 || count(fs, implemented) < 300 {
		t.Errorf("%d refused, %d implemented", count(fs, refused), count(fs, implemented))
	}
}

func TestAFunctionThatIsNotThereIsNamed(t *testing.T) {
	err := complete([]function{{Function: cu.FnCuInit}, {Function: cu.FnCuMemAlloc, status: absent}})
	if err == nil || !strings.Contains(err.Error(), "cuMemAlloc_v2") || strings.Contains(err.Error(), "cuInit") {
		t.Errorf("got %v", err)
	}
}

func TestADifferenceNeedsAnAnswer(t *testing.T) {
	if _, err := readAnswers("testdata/contradiction"); err == nil {
		t.Error("no error")
	}
}
