package nvrtc

import (
	"slices"
	"strings"
	"testing"
)

func TestArchIsTheHighestThatTheDeviceRuns(t *testing.T) {
	c := newFake(t, &fake{})
	if got, want := c.Archs(), []Arch{"compute_75", "compute_80", "compute_90"}; !slices.Equal(got, want) {
		t.Errorf("architectures %q, want %q", got, want)
	}
	for capability, want := range map[[2]int]Arch{
		{7, 5}: "compute_75", {8, 9}: "compute_80", {9, 0}: "compute_90", {12, 0}: "compute_90",
	} {
		if got, err := c.ArchFor(capability[0], capability[1]); err != nil || got != want {
			t.Errorf("%v: %s, %v; want %s", capability, got, err, want)
		}
	}
	_, err := c.ArchFor(5, 2)
	if err == nil || !strings.Contains(err.Error(), "5.2") || !strings.Contains(err.Error(), "compute_75") {
		t.Errorf("error %v for a device that is too old", err)
	}
	if Virtual(10, 0) != "compute_100" || Real(8, 6) != "sm_86" || !Real(8, 6).IsReal() || Virtual(8, 6).IsReal() {
		t.Error("architectures have other names")
	}
}
