package trace_test

import (
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/trace"
)

// These functions in cuda.h have a float parameter, or a struct parameter that does not fit in two
// words. If they are C code, they are not traced.
func TestFunctionsThatTakeMoreThanWordsAreKnown(t *testing.T) {
	var names []string
	for f := range cu.Functions() {
		if trace.ByValue(f) {
			names = append(names, f.String())
		}
	}
	slices.Sort(names)
	want := []string{"cuIpcOpenEventHandle", "cuIpcOpenMemHandle", "cuParamSetf", "cuTexRefSetMipmapLevelBias", "cuTexRefSetMipmapLevelClamp"}
	if !slices.Equal(slices.Compact(names), want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
