package corpus_test

import (
	"io"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/verify/corpus"
)

func TestRepeatedLaunchesAreThoseOfTheSteps(t *testing.T) {
	b := corpus.Builds[0]
	all := sources(t)
	src := all[slices.IndexFunc(all, func(s *corpus.Source) bool { return s.Name == "histogram" })]
	emu := emulator.New(emulator.Config{Stdout: io.Discard})
	var steps []string
	repeat(t, emu, b, src, texts(t, b)[src.Name], func(step string, refill func() error, launch func(int) error) error {
		steps = append(steps, step)
		before := emu.Stats().Launches
		err := launch(3)
		if n := emu.Stats().Launches - before; n != 3 {
			t.Errorf("%s: %d launches, expected 3", step, n)
		}
		return err
	})
	if want := []string{"direct", "privatised", "aggregated"}; !slices.Equal(steps, want) {
		t.Errorf("the steps are %v, expected %v", steps, want)
	}
}
