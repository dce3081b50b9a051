package trace_test

import (
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/trace"
)

// The functions of cuda.h with a float, or with a struct that does not fit into
// two words, among their parameters: a wrapped C function of these is called as
// it is.
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
