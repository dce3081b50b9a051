//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module writes a module with a package whose code is to be changed.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/sums\n\ngo 1.25.0\n")
	for _, name := range []string{"sums.go", "sums_test.go"} {
		text, err := os.ReadFile(filepath.Join("testdata", "sums", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, string(text))
	}
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// what lists the changes of a function that have a given state. Each has its kind and code.
func what(t *testing.T, sample, results, function, state string) []string {
	t.Helper()
	_, all, err := readSample(sample)
	ok(t, err)
	done, err := readResults(results)
	ok(t, err)
	var list []string
	for _, m := range all {
		if m.Func == function && done[m.ID].State == state {
			list = append(list, m.Kind+": "+m.Code)
		}
	}
	slices.Sort(list)
	return list
}

func TestChangesAreKilledByTheTestsThatNoticeThem(t *testing.T) {
	dir := module(t)
	sample, results := filepath.Join(dir, "sample.jsonl"), filepath.Join(dir, "results.jsonl")
	var lines []string
	for n := 15; n <= 27; n++ { // the lines of Mean
		lines = append(lines, "./sums.go:"+itoa(n))
	}
	for n := 30; n <= 42; n++ { // the lines of Untested and Careless
		lines = append(lines, "./sums.go:"+itoa(n))
	}
	ok(t, listLines(dir, []string{"."}, lines, sample))
	work := filepath.Join(t.TempDir(), "work")
	ok(t, run([]string{"run", "-root", dir, "-mutants", sample, "-results", results, "-work", work}))
	for _, c := range []struct{ function, state, has string }{
		{"Mean", killed, "condition negated: len(values) == 0"},
		{"Mean", killed, "check dropped: len(values) == 0"},
		{"Mean", killed, "error swallowed: return 0, ErrNone"},
		{"Mean", killed, "statement dropped: sum += v"},
		{"Mean", killed, "operator exchanged: sum / len(values)"},
		{"Mean", killed, "defer dropped: defer mu.Unlock()"},
		{"Mean", killed, "lock dropped: mu.Lock()"}, // package sync reports the unlock of an unlocked mutex
		{"Untested", unreached, "comparison shifted: a > 3"},
		{"Untested", unreached, "constant changed: 1"},
		{"Careless", survived, "statement dropped: b++"},
		{"Careless", survived, "operator exchanged: a * 2"},
	} {
		if got := what(t, sample, results, c.function, c.state); !slices.Contains(got, c.has) {
			t.Errorf("%s: %s is not among the %s: %q", c.function, c.has, c.state, got)
		}
	}
	for function, state := range map[string]string{"Mean": survived, "Untested": killed, "Careless": killed} {
		if got := what(t, sample, results, function, state); len(got) != 0 {
			t.Errorf("%s: %q %s", function, got, state)
		}
	}
	before, err := os.ReadFile(results)
	ok(t, err)
	ok(t, run([]string{"run", "-root", dir, "-mutants", sample, "-results", results, "-work", work}))
	if after, err := os.ReadFile(results); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a second run tried something again: %v", err)
	}

	// A test that fails without a change must not count as killing one.
	write(t, dir, "unreliable", "")
	ok(t, run([]string{"run", "-root", dir, "-mutants", sample, "-results", results, "-work", work, "-retry", survived}))
	if got := what(t, sample, results, "Careless", killed); len(got) != 0 {
		t.Errorf("killed by a test that fails without a change: %q", got)
	}

	// After a new test is added, a retry must kill the changes that survived.
	write(t, dir, "more_test.go", "package sums\n\nimport \"testing\"\n\nfunc TestMore(t *testing.T) {\n\tif Careless(3) != 7 || Untested(4) != 5 || Untested(3) != 3 {\n\t\tt.Error(\"wrong\")\n\t}\n}\n")
	ok(t, run([]string{"run", "-root", dir, "-mutants", sample, "-results", results, "-work", work, "-retry", survived + "," + unreached}))
	for _, function := range []string{"Untested", "Careless"} {
		if got := slices.Concat(what(t, sample, results, function, survived), what(t, sample, results, function, unreached)); len(got) != 0 {
			t.Errorf("%s: with the new test there are left %q", function, got)
		}
	}

	var table strings.Builder
	ok(t, writeTable(&table, sample, results, ""))
	if _, all, err := readSample(sample); err != nil || !strings.Contains(table.String(), "| all | "+itoa(len(all))+" | "+itoa(len(all))+" | 0 | 0 | 0 | 0 | 0 | 100.0 % |") {
		t.Errorf("the table is\n%s", &table)
	}
}

func itoa(n int) string { return string(rune('0'+n/10)) + string(rune('0'+n%10)) }

// A sample must have the requested number of changes, and all must compile. The same seed must
// yield the same sample.
func TestASampleIsThatOfItsSeed(t *testing.T) {
	dir := module(t)
	var texts []string
	for i, seed := range []string{"1", "1", "2"} {
		file := filepath.Join(dir, "sample"+itoa(i)+".jsonl")
		ok(t, run([]string{"sample", "-root", dir, "-packages", ".", "-seed", seed, "-n", "12", "-mutants", file}))
		_, all, err := readSample(file)
		ok(t, err)
		if len(all) != 12 {
			t.Errorf("%d changes", len(all))
		}
		text, err := os.ReadFile(file)
		ok(t, err)
		texts = append(texts, string(text))
		if run([]string{"sample", "-root", dir, "-packages", ".", "-mutants", file}) == nil {
			t.Error("a sample was drawn over another")
		}
	}
	if texts[0] != texts[1] || texts[0] == texts[2] {
		t.Error("samples of one seed differ, or of two seeds do not")
	}
}

func TestSharesAreInProportion(t *testing.T) {
	if got := proportional([]int{50, 30, 19, 1}, 10); !slices.Equal(got, []int{5, 3, 2, 0}) {
		t.Errorf("got %v", got)
	}
	if got := proportional([]int{0, 0}, 10); !slices.Equal(got, []int{0, 0}) {
		t.Errorf("got %v", got)
	}
}

func TestCodeThatIsGoneIsSaidToBe(t *testing.T) {
	dir := module(t)
	sample, results := filepath.Join(dir, "sample.jsonl"), filepath.Join(dir, "results.jsonl")
	ok(t, listLines(dir, []string{"."}, []string{"./sums.go:38"}, sample))
	text, err := os.ReadFile(filepath.Join(dir, "sums.go"))
	ok(t, err)
	write(t, dir, "sums.go", strings.Replace(string(text), "b := a * 2", "b := 2 * a", 1))
	ok(t, run([]string{"run", "-root", dir, "-mutants", sample, "-results", results, "-work", t.TempDir()}))
	if got := what(t, sample, results, "Careless", gone); len(got) == 0 {
		t.Error("nothing is gone")
	}
}
