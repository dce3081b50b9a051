package math_test

import (
	"os"
	"testing"

	"github.com/purecuda/cuda/internal/mathtest"
)

// TestNothingIsFused checks that a compiler cannot change results by fusing products with sums.
func TestNothingIsFused(t *testing.T) {
	found, err := mathtest.Fusible(os.DirFS("."), "modBits", "reduceLarge")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}
