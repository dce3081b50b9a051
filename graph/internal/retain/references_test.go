package retain

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/life"
)

type model struct {
	nodes []([]life.Ref)
	loose []life.Ref
}

func (m *model) want() map[*life.Lifetime]bool {
	all := map[*life.Lifetime]bool{}
	for _, refs := range append(slices.Clone(m.nodes), m.loose) {
		for _, r := range refs {
			all[r.Lifetime()] = true
		}
	}
	return all
}

func (o *References) holds() map[*life.Lifetime]bool {
	all := map[*life.Lifetime]bool{}
	for _, h := range o.entries {
		if h.Life != nil {
			all[h.Life] = true
		}
	}
	return all
}

// After any sequence of calls, References must contain exactly the things that their nodes refer
// to.
func TestReferencesHoldWhatNodesReferTo(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	things := make([]life.Ref, 12)
	for i := range things {
		b, err := driver.Alloc[byte](c, 8)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
		things[i] = b.Ref()
	}
	for seed := range uint64(200) {
		checkOwners(t, rand.New(rand.NewPCG(seed, 1)), things)
	}
}

func checkOwners(t *testing.T, rnd *rand.Rand, things []life.Ref) {
	t.Helper()
	o, m := New(), &model{}
	others := []*References{}
	for step := range 60 {
		what := change(t, rnd, &o, m, things)
		o.Flush()
		if !maps.Equal(o.holds(), m.want()) {
			t.Fatalf("step %d (%s): %d things held, want %d", step, what, len(o.holds()), len(m.want()))
		}
		if rnd.IntN(8) == 0 { // another graph or Exec shares the references, and then one of the two changes them
			others = append(others, o.Share())
			o = o.Writable()
		}
	}
	for _, other := range others {
		other.Release()
	}
	o.Release()
}

func change(t *testing.T, rnd *rand.Rand, o **References, m *model, things []life.Ref) string {
	t.Helper()
	refs := make([]life.Ref, rnd.IntN(5))
	for i := range refs {
		refs[i] = things[rnd.IntN(len(things))]
	}
	hold := func() {
		if err := (*o).Retain(refs); err != nil {
			t.Fatal(err)
		}
	}
	kind := rnd.IntN(10)
	if len(m.nodes) == 0 && kind < 7 {
		kind = 7
	}
	node := uint32(0)
	if len(m.nodes) > 0 {
		node = uint32(rnd.IntN(len(m.nodes)))
	}
	switch kind {
	case 0, 1, 2:
		hold()
		(*o).Commit(node)
		m.nodes[node] = refs
		if len(refs) > 0 && !(*o).RefersTo(int(node), refs) {
			t.Fatal("a node does not refer to what it was given")
		}
		return "commit"
	case 3:
		(*o).CommitAgain(1)
		m.nodes = append(m.nodes, m.nodes[len(m.nodes)-1])
		return "commitAgain"
	case 4:
		(*o).Forget(node)
		m.nodes[node] = nil
		return "forget"
	case 5:
		hold()
		(*o).Abandon()
		return "abandon"
	case 6:
		mark := (*o).Mark()
		hold()
		(*o).CommitNew()
		(*o).CommitAgain(1)
		(*o).Cut(mark)
		return "cut"
	case 7:
		hold()
		(*o).CommitNew()
		m.nodes = append(m.nodes, refs)
		return "commitNew"
	case 8:
		hold()
		(*o).CommitLoose()
		m.loose = append(m.loose, refs...)
		return "commitLoose"
	}
	if rnd.IntN(4) > 0 {
		return "nothing"
	}
	(*o).Loosen()
	m.loose = slices.Concat(append(slices.Clone(m.nodes), m.loose)...)
	m.nodes = nil
	return "loosen"
}

// Nodes without references must not take up a set.
func TestReferencesToNothingTakeNoSet(t *testing.T) {
	o := New()
	for range 3 {
		o.CommitNew()
	}
	if len(o.Nodes) != 3 || len(o.sets) != 0 {
		t.Errorf("%d nodes, %d sets", len(o.Nodes), len(o.sets))
	}
}
