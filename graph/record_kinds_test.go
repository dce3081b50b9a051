package graph_test

import (
	"fmt"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// A list with every kind of operation that can be captured gives the same nodes in
// the same order, and the same results, by capture and by hand.
func TestRecordGivesTheSameEitherWay(t *testing.T) {
	each(t, func(k *kit) {
		var shown []string
		for _, make := range []func(ops ...driver.Op) (*graph.Graph, error){
			func(ops ...driver.Op) (*graph.Graph, error) { return graphOf(k.s, ops...) },
			func(ops ...driver.Op) (*graph.Graph, error) { return sequence(k.c, ops...) },
		} {
			shown = append(shown, k.madeOf(make, k.everyKind()))
		}
		if shown[0] != shown[1] {
			k.Errorf("by capture and by hand differ:\n%s\n%s", shown[0], shown[1])
		}
	})
}

// A capture would take events for orders between streams. A list that is added by hand records them
// in each replay.
func TestRecordedEventsHappenInReplays(t *testing.T) {
	each(t, func(k *kit) {
		l := k.everyKind()
		l.ops = append(l.ops, driver.RecordOp(l.event), driver.WaitOp(l.event))
		k.madeOf(func(ops ...driver.Op) (*graph.Graph, error) { return sequence(k.c, ops...) }, l)
		if done, err := l.event.Query(); err != nil || !done {
			k.Errorf("the event has happened: %v, %v", done, err)
		}
	})
}

// madeOf runs a graph of a list twice and says what it is and did.
func (k *kit) madeOf(make func(...driver.Op) (*graph.Graph, error), l *everyKind) string {
	k.Helper()
	g, err := make(l.ops...)
	k.ok(err)
	k.closeLater(g)
	x := k.exec(g)
	k.run(x)
	k.run(x)
	return k.sorts(g) + l.result()
}

// everyKind is a list of operations and what they change.
type everyKind struct {
	*kit
	ops     []driver.Op
	a, b, c *driver.Buffer[uint32]
	host    *driver.HostBuffer[uint32]
	event   *driver.Event
	calls   int
}

func (k *kit) everyKind() *everyKind {
	l := &everyKind{kit: k, a: k.memory(), b: k.memory(), c: k.memory(), event: k.event()}
	var err error
	l.host, err = driver.AllocHost[uint32](k.c, elems)
	k.ok(err)
	k.closeLater(l.host)
	for i := range l.host.Slice() {
		l.host.Slice()[i] = uint32(i)
	}
	l.ops = []driver.Op{
		op[*driver.CopyOp](k)(driver.Upload[uint32](l.a, l.host)),
		k.launch(k.plus, l.a, 3),
		op[*driver.FillOp](k)(driver.Fill[uint32](l.b, 5)),
		op[*driver.FillOp](k)(driver.Fill2D[uint32](l.c, 7, 16, 4, 2)),
		op[*driver.CopyOp](k)(driver.Copy2D(driver.Region{Memory: l.c, Pitch: 32}, driver.Region{Memory: l.a, Pitch: 64}, 8, 2)),
		op[*driver.MemOp](k)(driver.NewMemOp(k.c, driver.WriteWord[uint32](l.b, 3, 99, 0))),
		op[*driver.CopyOp](k)(driver.CopyDevice[uint32](l.b.View(8, 16), l.a.View(0, 8))),
		k.launch(k.times, l.b, 2),
		op[*driver.HostFunc](k)(driver.NewHostFunc(k.c, func() { l.calls++ })),
		op[*driver.CopyOp](k)(driver.Download[uint32](l.host, l.b)),
	}
	return l
}

// result is all that the operations change.
func (l *everyKind) result() string {
	l.Helper()
	out := fmt.Sprintf("calls %d, host %v", l.calls, l.host.Slice())
	for _, b := range []*driver.Buffer[uint32]{l.a, l.b, l.c} {
		got := make([]uint32, b.Len())
		l.ok(b.CopyTo(got))
		out += fmt.Sprint("\n", got)
	}
	return out
}

// sorts lists what the nodes do, each after those before it.
func (k *kit) sorts(g *graph.Graph) (list string) {
	k.Helper()
	for n, err := range g.Nodes() {
		k.ok(err)
		kind, err := n.Type()
		k.ok(err)
		before, err := n.Dependencies()
		k.ok(err)
		list += fmt.Sprintf("%v after %v, ", kind, before)
	}
	return list + "\n"
}
