package difftest_test

import (
	"testing"

	"github.com/purecuda/cuda/internal/verify/difftest"
	"github.com/purecuda/cuda/ptx"
)

func TestNamesOfFormsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range difftest.Groups() {
		for _, f := range g.Forms {
			if seen[f.Name] {
				t.Errorf("%s: %s is there twice", g.Name, f.Name)
			}
			seen[f.Name] = true
		}
	}
	t.Logf("%d forms", len(seen))
}

func TestModulesParse(t *testing.T) {
	for _, g := range difftest.Groups() {
		if _, err := ptx.Parse(g.Name, []byte(difftest.Module(g.Forms))); err != nil {
			t.Errorf("%s: %v", g.Name, err)
		}
	}
}
