package source

import (
	"strings"
	"testing"
)

// The fingerprint depends on the reached code, its directives and its line numbers, and on nothing
// else.
func TestFingerprint(t *testing.T) {
	text := strings.Replace(heat, ", unused = [2]float32{1, 2}, Launch()", " = [2]float32{1, 2}", 1)
	of := func(text string) [32]byte { return mustLoad(t, text).Fingerprint() }
	was := of(text)
	for _, change := range [][3]string{
		{"", "Serve(s)", "Serve(t)"},
		{"", "\"net/http\"", "\"net/htt0\""},
		{"changed", "a + b", "b + a"},
		{"changed", "block=256", "block=128"},
		{"changed", "factor = 0.5", "factor = 0.25"},
		{"changed", "{1, 2}", "{1, 3}"},
		{"changed", "struct{ K", "struct{\nK"},
	} {
		if now := of(strings.Replace(text, change[1], change[2], 1)); (now != was) != (change[0] == "changed") {
			t.Errorf("%s instead of %s: changed is %v", change[2], change[1], now != was)
		}
	}
}
