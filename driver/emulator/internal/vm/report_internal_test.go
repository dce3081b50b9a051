package vm

import "testing"

func TestSourceLines(t *testing.T) {
	const text = "first\n\n\tthird\n"
	for n, want := range map[int]string{1: "first", 2: "", 3: "third", 4: "", 5: ""} {
		if got := sourceLine(text, n); got != want {
			t.Errorf("line %d is %q, want %q", n, got, want)
		}
	}
}
