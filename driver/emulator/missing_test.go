package emulator_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/ptxforms"
	"github.com/purecuda/cuda/ptx/isa"
)

// unasked lists forms whose operands are names of functions and labels, which other tests cover,
// and forms for GPUs newer than the emulator's.
var unasked = map[string]bool{
	"call": true, "brx.idx": true, "multimem.cp.async.bulk": true, "multimem.cp.reduce.async.bulk": true,
}

// A form that the rules of package isa allow is either executed, or listed as missing and rejected
// with CUDA_ERROR_NOT_SUPPORTED. PURECUDA_UPDATE=1 writes the list. docs/ptx-instructions.md prints
// it.
func TestTheListOfMissingForms(t *testing.T) {
	if onGPU {
		t.Skip("a GPU executes every form")
	}
	r := newRig(t)
	var found []string
	loaded := 0
	load := func(text string) (string, bool) {
		loaded++
		says, err := r.loads(text)
		switch {
		case err == nil:
			return "", false
		case code(err) != cu.CUDA_ERROR_NOT_SUPPORTED:
			t.Errorf("the rules allow it, the emulator says %v: %s\n%s", err, says, text)
		}
		_, why, _ := strings.Cut(says, "which has no ")
		why, _, _ = strings.Cut(why, "\n")
		return why, true
	}
	nth := 0
	for _, name := range isa.Names() {
		for _, f := range isa.Forms(name) {
			if nth++; testing.Short() && nth%7 != 0 {
				continue
			}
			before := loaded
			m, there := ptxforms.Find(f, load)
			if loaded == before && !strings.HasSuffix(f.Since(), "sm_100") && !unasked[f.Name()] {
				t.Errorf("there is no instruction of the form %v", f)
			}
			if !there {
				found = append(found, m.String())
			}
		}
	}
	var want []string
	for _, m := range ptxforms.List() {
		want = append(want, m.String())
	}
	if os.Getenv("PURECUDA_UPDATE") != "" && !testing.Short() {
		if err := os.WriteFile("../../internal/ptxforms/missing.txt", []byte(strings.Join(found, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, m := range found {
		if !slices.Contains(want, m) {
			t.Errorf("the emulator lacks it, and internal/ptxforms/missing.txt does not say so: %q", m)
		}
	}
	for _, m := range want {
		if !slices.Contains(found, m) && !testing.Short() {
			t.Errorf("internal/ptxforms/missing.txt says that the emulator lacks it, which is not so: %q", m)
		}
	}
	if least := 8000; !testing.Short() && loaded < least {
		t.Errorf("%d instructions are loaded, fewer than %d", loaded, least)
	}
}
