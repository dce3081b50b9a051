package math32_test

import (
	"os"
	"testing"

	"github.com/purecuda/cuda/internal/mathtest"
)

// TestNothingIsFused checks that no compiler can fuse products with sums, which would change
// results.
func TestNothingIsFused(t *testing.T) {
	found, err := mathtest.Fusible(os.DirFS("."), "modBits", "reduceLarge")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}
