package opt_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/opt"
)

// The page about the compiler must list the passes in their order.
func TestPageListsThePasses(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/internals/compiler.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|").FindAllSubmatch(page, -1) {
		listed = append(listed, string(row[1]))
	}
	if want := opt.Passes(); !slices.Equal(listed, want) {
		t.Errorf("the page lists the passes\n%v\nwant\n%v", listed, want)
	}
}
