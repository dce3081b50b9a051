package corpus_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/verify/corpus"
)

const keptSource = "//@ k<<<1, 1>>>(exact u32[2] zero, near f32[2] zero ~1e-3, clock u32[1] zero ?)\n"

func keptResult(src *corpus.Source, exact, near, clock byte) []corpus.Result {
	args := src.Steps[0].Args
	return []corpus.Result{{Step: "k", Outputs: []corpus.Output{
		{Arg: &args[0], Bytes: []byte{exact, 0, 0, 0, 0, 0, 0, 0}},
		{Arg: &args[1], Bytes: []byte{near, 0, 0x80, 0x3f, 0, 0, 0, 0}},
		{Arg: &args[2], Bytes: []byte{clock, 0, 0, 0}},
	}}}
}

func TestResultsAreComparedAsTheirArgumentsAllow(t *testing.T) {
	src, err := corpus.ParseSource("test", keptSource)
	if err != nil {
		t.Fatal(err)
	}
	b, other := corpus.Builds[0], corpus.Builds[1]
	var kept corpus.Kept
	kept.Add(src, b, keptResult(src, 1, 2, 3))
	for _, c := range []struct {
		name               string
		build              corpus.Build
		exact, near, clock byte
		want               string
	}{
		{"the same", b, 1, 2, 3, ""},
		{"near, and another time", b, 1, 9, 8, ""},
		{"another number", b, 7, 2, 3, "exact: element 0: 0x7, not 0x1"},
		{"another build", other, 1, 2, 3, "nothing was kept"},
	} {
		err := kept.Compare(src, c.build, keptResult(src, c.exact, c.near, c.clock))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, expected %q", c.name, err, c.want)
		}
	}
	far := keptResult(src, 1, 2, 3)
	far[0].Outputs[1].Bytes[2] = 0x90
	if err := kept.Compare(src, b, far); err == nil || !strings.Contains(err.Error(), "near: element 0: 1.12") {
		t.Errorf("too far off: %v", err)
	}
}

func TestTheSameMeansEveryBit(t *testing.T) {
	src, err := corpus.ParseSource("test", keptSource)
	if err != nil {
		t.Fatal(err)
	}
	if err := corpus.Same(keptResult(src, 1, 2, 3), keptResult(src, 1, 2, 4)); err != nil {
		t.Errorf("what varies is compared: %v", err)
	}
	if err := corpus.Same(keptResult(src, 1, 2, 3), keptResult(src, 1, 3, 3)); err == nil {
		t.Error("a bit of a float within the tolerance is let pass")
	}
	if err := corpus.Same(keptResult(src, 1, 2, 3), nil); err == nil {
		t.Error("no results are the same as one")
	}
}

// Every recorded result of the H200 must belong to a step, and every step that ran on the H200 must
// have a result.
func TestResultsOfTheH200AreComplete(t *testing.T) {
	h200, err := corpus.H200()
	if err != nil {
		t.Fatal(err)
	}
	if h200.Device != "NVIDIA H200" || len(h200.Sources) != len(sources(t)) {
		t.Fatalf("results of %d sources on %q", len(h200.Sources), h200.Device)
	}
	for _, src := range sources(t) {
		for step, results := range h200.Sources[src.Name] {
			builds := 0
			for _, r := range results {
				builds += len(r.Builds)
			}
			if builds < 1 || builds > 4 {
				t.Errorf("%s: %s: results of %d builds", src.Name, step, builds)
			}
		}
	}
}
