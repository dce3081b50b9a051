package lower

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/language"
)

// unreachable are refusals that no source causes.
var unreachable = map[string]bool{"internal": true}

// Each reason has code that is refused for it. Package language tests the code, with the place and
// the message. Each reason says what to do instead.
func TestEachRefusalHasCode(t *testing.T) {
	for _, r := range Refusals {
		if r.Message == "" || r.Advice == "" {
			t.Errorf("%s has no message or no advice", r.ID)
		}
		text := r.Message + ": " + r.Advice
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(text), "%s", ".+") + "$")
		found := slices.ContainsFunc(language.Refused, func(x language.Refusal) bool { return pattern.MatchString(x.Error) })
		if found == unreachable[r.ID] {
			t.Errorf("%s: there is code that is refused for it: %v", r.ID, found)
		}
	}
}

// A panic of the compiler is an error with the place at which it was.
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
