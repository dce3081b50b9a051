package graph_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// ways are those of recording launches one after the other.
var ways = map[string]func(sc *graph.Scope, ops ...driver.Op) error{
	"Do":         func(sc *graph.Scope, ops ...driver.Op) error { return does(ops...)(sc) },
	"Do of many": (*graph.Scope).Do,
	"Burst": func(sc *graph.Scope, ops ...driver.Op) error {
		return sc.Burst(func(b *graph.Burst) error {
			for _, op := range ops {
				if err := b.Do(op); err != nil {
					return err
				}
			}
			return nil
		})
	},
}

// Launches of the same memory are recorded without looking at it again, those of
// other memory are not: the graph keeps all of it.
func TestRecordedLaunchesKeepTheirMemory(t *testing.T) {
	for name, record := range ways {
		t.Run(name, func(t *testing.T) {
			each(t, func(k *kit) {
				a, b, c := k.memoryOf(1), k.memoryOf(1), k.memoryOf(1)
				sum := k.memory()
				first, second := k.launch(k.plus, a, 1), k.launch(k.plus, a, 2)
				other, moved := k.launch(k.plus, b, 3), k.launch(k.plus, a, 4)
				k.ok(driver.SetArg(moved, 0, c))
				clone := other.Clone()
				k.ok(driver.SetArg(clone, 2, uint32(10)))
				all := k.op(k.sum.Prepare(config, sum, a, b, uint32(elems)))
				g := k.capture(func(sc *graph.Scope) error { return record(sc, first, second, other, clone, moved, second, all) })
				for _, m := range []*driver.Buffer[uint32]{a, b, c} {
					held := m.Ref().Lifetime().Holders()
					if held == 0 {
						k.Errorf("the graph does not keep %v", m)
					}
				}
				k.ok(b.Close())
				k.ok(c.Close())
				k.run(k.exec(g))
				k.expect(a, 1+1+2+2)
				k.expect(sum, 6+14)
				k.ok(a.Close())
			})
		})
	}
}

// What is recorded is checked by the memory of each launch.
func TestRecordedLaunchesAreCheckedByTheirMemory(t *testing.T) {
	for name, record := range ways {
		t.Run(name, func(t *testing.T) {
			each(t, func(k *kit) {
				a, b := k.memory(), k.memory()
				one, two := k.launch(k.plus, a, 1), k.launch(k.plus, a, 2)
				g := k.capture(func(sc *graph.Scope) error {
					return sc.Parallel(
						func(sc *graph.Scope) error { return record(sc, one, two) },
						func(sc *graph.Scope) error { return record(sc, k.launch(k.plus, b, 1), k.launch(k.plus, b, 1)) },
						func(sc *graph.Scope) error { return record(sc, two, one) })
				})
				found, err := g.Check()
				k.ok(err)
				if found.OK() {
					k.Error("two branches that write the same memory were found in order")
				}
				for _, c := range found.Conflicts {
					if c.Buffer != uint64(a.Ptr()) {
						k.Errorf("a conflict that is none: %+v", c)
					}
				}
			})
		})
	}
}
