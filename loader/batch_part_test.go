package loader_test

import (
	"slices"
	"testing"

	"github.com/purecuda/cuda/loader"
)

// tableOfOne is a package variable because a Proc in a batch must not move. On the stack, it could
// move.
var tableOfOne loader.Proc

// A batch must keep its calls after a run. It must be able to run again, as a whole or in parts,
// with the arguments that its frames hold at that time.
func TestBatchRunsAgainAndInParts(t *testing.T) {
	const calls = 3000 // more than one chunk
	var got []uintptr
	note := &tableOfOne
	*note = loader.FuncProc(func(a loader.Args) uintptr {
		got = append(got, a.Word(a.Len()-1))
		if a.Word(0) == 7 {
			return 9
		}
		return 0
	})
	b := loader.NewBatch()
	var frames []loader.Frame
	var want []uintptr
	for i := range uintptr(calls) {
		switch i % 3 {
		case 0:
			frames = append(frames, b.Add5(note, 1, 0, 0, 0, i))
		case 1:
			frames = append(frames, b.Add3(note, 1, 0, i))
		default:
			f := b.Add(note, 2)
			f.SetWord(0, 1)
			f.SetWord(1, i)
			frames = append(frames, f)
		}
		want = append(want, i)
	}
	for range 2 {
		got = nil
		if done, failure := b.Run(nil); done != calls || failure != 0 || !slices.Equal(got, want) {
			t.Fatalf("%d calls, result %d, %d words", done, failure, len(got))
		}
	}
	got = nil
	if done, failure := b.RunPart(nil, frames[500], 1000); done != 1000 || failure != 0 || !slices.Equal(got, want[500:1500]) {
		t.Errorf("a part: %d calls, result %d, %d words", done, failure, len(got))
	}
	*frames[600].Word(0) = 7
	got = nil
	if done, failure := b.RunPart(nil, frames[500], 1000); done != 100 || failure != 9 || b.Stopped() != note || len(got) != 101 {
		t.Errorf("a part that fails: %d calls, result %d, %d words", done, failure, len(got))
	}
	if done, failure := b.RunPart(nil, frames[0], 0); done != 0 || failure != 0 {
		t.Errorf("no calls: %d, result %d", done, failure)
	}
	if b.Len() != calls {
		t.Errorf("%d calls are left", b.Len())
	}
}
