package lower

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/language"
)

// unreachable are refusals that no source code can trigger.
var unreachable = map[string]bool{"internal": true}

// Each refusal has sample code that triggers it and advice on what to write instead. Package
// language tests the positions and messages.
func TestEachRefusalHasCode(t *testing.T) {
	for _, r := range Refusals {
		if r.Message == "" || r.Advice == "" {
			t.Errorf("%s has no message or no advice", r.ID)
		}
		text := r.Message + ": " + r.Advice
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(text), "%s", ".+") + "$")
		found := slices.ContainsFunc(slices.Concat(language.Refused, language.RefusedFiles), func(x language.Refusal) bool { return pattern.MatchString(x.Error) })
		if found == unreachable[r.ID] {
			t.Errorf("%s: there is code that is refused for it: %v", r.ID, found)
		}
	}
}

// A panic in the compiler becomes an error with the source position at which it occurred.
func TestPanicsAreErrors(t *testing.T) {
	defer func(old bool) { debugPanics = old }(debugPanics)
	debugPanics = false
	p := loadKernels(t)
	l := newLowerer(p, Options{})
	l.protect(p.Kernels[0].Decl.Pos(), func() {
		l.now = p.Kernels[0].Decl.Pos()
		panic("broken")
	})
	if len(l.errs) != 1 || l.errs[0].ID != "internal" || l.errs[0].Message != "the compiler failed: broken" || l.errs[0].Pos.Line == 0 {
		t.Errorf("%v", l.errs)
	}
}
