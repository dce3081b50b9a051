package faulttest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

// kinds lists the kernels of testdata/kinds.go with the messages of their faults.
var kinds = []struct {
	kernel string
	text   func(a, b int64) string
}{
	{"index", func(a, b int64) string {
		return fmt.Sprintf("kinds/kinds.go:16:2: index out of range [%d] with length 256 in kernel kinds.index, ", a)
	}},
	{"slice", func(a, b int64) string {
		return fmt.Sprintf("kinds/kinds.go:25:10: slice bounds out of range [%d:%d] with capacity 256 in kernel kinds.slice, ", a, b)
	}},
	{"null", func(a, b int64) string {
		return "kinds/kinds.go:41:21: nil pointer dereference in kernel kinds.null, "
	}},
	{"divide", func(a, b int64) string {
		return "kinds/kinds.go:50:39: integer divide by zero in kernel kinds.divide, "
	}},
	{"shift", func(a, b int64) string {
		return fmt.Sprintf("kinds/kinds.go:59:27: negative shift amount %d in kernel kinds.shift, ", -a)
	}},
	{"convert", func(a, b int64) string {
		return fmt.Sprintf("kinds/kinds.go:69:21: cannot convert slice with length %d to array or pointer to array with length 2 in kernel kinds.convert, ", a&1)
	}},
	{"assert", func(a, b int64) string {
		return "kinds/kinds.go:74:2: assertion failed: the cell is too hot in kernel kinds.assert, "
	}},
	{"panics", func(a, b int64) string {
		return "kinds/kinds.go:81:3: panic: no such cell in kernel kinds.panics, "
	}},
	{"inlined", func(a, b int64) string {
		return fmt.Sprintf("kinds/kinds.go:91:42: index out of range [%d] with length 4 in kernel kinds.inlined, ", a)
	}},
	{"calls", func(a, b int64) string {
		return fmt.Sprintf("kinds/kinds.go:107:52: index out of range [%d] with length 256 in kernel kinds.called, ", a)
	}},
}

const (
	threads = 64
	blocks  = 4
	nobody  = 1 << 40
	advice  = "; what the launch wrote is unspecified, the context works on: fix the kernel or its arguments"
)

// bench launches the kernels of testdata/kinds.go in every possible way.
type bench struct {
	c         *driver.Context
	s         *driver.Stream
	out, good *driver.Buffer[int32]
	kernels   []*driver.Kernel
	ways      []way
}

// way is a way to launch kernel i with arguments. If it cannot change the arguments of earlier
// launches, it returns the arguments actually used.
type way struct {
	name   string
	launch func(t testing.TB, i int, now args) args
}

type args struct{ a, b, who int64 }

func (b *bench) op(t testing.TB, i int, out *driver.Buffer[int32], x args) *driver.Launch {
	t.Helper()
	cfg := driver.LaunchConfig{Grid: driver.D1(blocks), Block: driver.D1(threads)}
	return must(b.kernels[i].Prepare(cfg, sliceOf(out), x.a, x.b, x.who))(t)
}

// A process must survive a thousand faults of compiled kernels: of every kind, launched in every
// way, while other streams are busy. Each fault must have the text listed in this test, both on the
// emulator and on a GPU. Between the faults, and in later nodes of the same graphs, kernels must
// compute correct results.
func TestAThousandFaultsOfGoKernels(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := load(t, c, compiled(t, "kinds", go2ptx.Config{}))
		b := &bench{c: c, s: stream(t, c), out: buffer(t, c, blocks*threads), good: buffer(t, c, blocks*threads)}
		for _, k := range kinds {
			b.kernels = append(b.kernels, kernel(t, m, k.kernel))
		}
		b.prepare(t)
		stop := othersAreBusy(t, c, kernel(t, m, "busy"))
		defer stop()
		count := map[string]int{}
		for n := range 1000 {
			i, w := n%len(kinds), b.ways[n/len(kinds)%len(b.ways)]
			x := w.launch(t, i, args{a: 1000 + int64(n), b: int64(n) % 1000, who: int64(n) * 7 % (blocks * threads)})
			err := wait(t, b.s)
			b.compare(t, err, i, x)
			ok(t, wait(t, b.s)) // the previous wait has already returned the fault
			b.works(t, i)
			if t.Failed() {
				t.Fatalf("fault %d, %s, %s", n, w.name, kinds[i].kernel)
			}
			count[w.name+" "+kinds[i].kernel]++
		}
		if len(count) != len(kinds)*len(b.ways) {
			t.Errorf("only %d of %d kinds and ways", len(count), len(kinds)*len(b.ways))
		}
	})
}

// compare checks the fault of kernel i. If all threads fail, the values are those of the thread
// that failed first, and there may be more than one fault.
func (b *bench) compare(t testing.TB, err error, i int, x args) {
	t.Helper()
	faults := faultsOf(err)
	if len(faults) == 0 || len(faults) > 1 && x.who >= 0 {
		t.Fatalf("the wait returned %v", err)
	}
	for _, f := range faults {
		block, thread := x.who/threads, x.who%threads
		if x.who < 0 {
			block, thread = int64(f.Block[0]), int64(f.Thread[0])
		}
		want := fmt.Sprintf("%sblock (%d,0,0), thread (%d,0,0)%s", kinds[i].text(x.a, x.b), block, thread, advice)
		if f.Error() != want || !strings.Contains(err.Error(), want) || uint64(block) >= blocks || uint64(thread) >= threads {
			t.Errorf("the fault is\n%v, not\n%v", f, want)
		}
	}
}

// works checks that kernel i computes correct results if no thread fails, and checks the result of
// a graph's last node.
func (b *bench) works(t testing.TB, i int) {
	t.Helper()
	ok(t, b.s.Do(b.op(t, i, b.good, args{who: nobody})))
	ok(t, wait(t, b.s))
	got := make([]int32, b.good.Len())
	ok(t, b.good.CopyTo(got))
	for j, v := range got {
		if v != int32(j) {
			t.Fatalf("afterwards, element %d is %d", j, v)
		}
	}
	ok(t, b.good.Fill(0))
}

// withConditionals is the first CUDA version whose driver supports the conditional nodes of the
// test.
const withConditionals = 12040

func (b *bench) prepare(t testing.TB) {
	b.ways = []way{{"launch", func(t testing.TB, i int, now args) args {
		ok(t, b.s.Do(b.op(t, i, b.out, now)))
		return now
	}}, {"all threads", func(t testing.TB, i int, now args) args {
		now.who = -1
		ok(t, b.s.Do(b.op(t, i, b.out, now)))
		return now
	}}}
	fixed := args{a: 777, b: 555, who: 200}
	b.ways = append(b.ways, b.replays(t, "replay", fixed, false, plain), b.replays(t, "set", fixed, true, plain), b.updates(t))
	if b.c.Driver().Version() >= withConditionals {
		b.ways = append(b.ways, b.replays(t, "if", fixed, false, inIf), b.replays(t, "while", fixed, false, inWhile), b.replays(t, "set in while", fixed, true, inWhile))
	}
}

// replays creates a graph for each kernel, with a correct node after the one that fails. If set is
// true, each launch sets new arguments first.
func (b *bench) replays(t testing.TB, name string, x args, set bool, add func(testing.TB, *graph.Graph, driver.Op) (graph.Node, graph.Node)) way {
	var execs []*graph.Exec
	var nodes []graph.Node
	for i := range b.kernels {
		g := must(graph.New(b.c))(t)
		t.Cleanup(func() { ok(t, g.Close()) })
		outer, node := add(t, g, b.op(t, i, b.out, x))
		must(g.Add(b.op(t, i, b.good, args{who: nobody}), outer))(t)
		execs, nodes = append(execs, execOf(t, g)), append(nodes, node)
	}
	return way{name, func(t testing.TB, i int, now args) args {
		used := x
		if set {
			used = now
			ok(t, execs[i].Set(nodes[i], b.op(t, i, b.out, now)))
		}
		ok(t, execs[i].Launch(b.s))
		b.laterNode(t, i)
		return used
	}}
}

// laterNode checks the result of the node after the failing one, without consuming the fault.
func (b *bench) laterNode(t testing.TB, i int) {
	t.Helper()
	ok(t, b.c.Driver().CuStreamSynchronize(b.s.Raw()))
	got := make([]int32, b.good.Len())
	var f *driver.KernelFault
	if err := b.good.CopyTo(got); err != nil && !errors.As(err, &f) {
		t.Error(err)
	}
	for j, v := range got {
		if v != int32(j) {
			t.Fatalf("the node after the fault of %s stored %d in element %d", kinds[i].kernel, v, j)
		}
	}
	if err := b.good.Fill(0); err != nil && !errors.As(err, &f) {
		t.Error(err)
	}
}

func plain(t testing.TB, g *graph.Graph, bad driver.Op) (outer, node graph.Node) {
	n := must(g.Add(bad))(t)
	return n, n
}

func inIf(t testing.TB, g *graph.Graph, bad driver.Op) (outer, node graph.Node) {
	outer, body, err := g.AddIf(must(g.NewCond(graph.WithDefault(1)))(t))
	ok(t, err)
	return outer, must(body.Add(bad))(t)
}

func inWhile(t testing.TB, g *graph.Graph, bad driver.Op) (outer, node graph.Node) {
	cond := must(g.NewCond(graph.WithDefault(1)))(t)
	outer, body, err := g.AddWhile(cond)
	ok(t, err)
	node = must(body.Add(bad))(t)
	must(body.Add(must(cond.Set(0))(t), node))(t)
	return outer, node
}

// updates instantiates a graph without a fault for each kernel, and updates it to one that fails.
func (b *bench) updates(t testing.TB) way {
	var execs []*graph.Exec
	build := func(t testing.TB, i int, x args) *graph.Graph {
		g := must(graph.New(b.c))(t)
		first := must(g.Add(b.op(t, i, b.out, x)))(t)
		must(g.Add(b.op(t, i, b.good, args{who: nobody}), first))(t)
		return g
	}
	for i := range b.kernels {
		g := build(t, i, args{who: nobody})
		execs = append(execs, execOf(t, g))
		ok(t, g.Close())
	}
	return way{"update", func(t testing.TB, i int, now args) args {
		g := build(t, i, now)
		defer g.Close()
		if r := must(execs[i].Update(g))(t); !r.Updated() {
			t.Fatal(r)
		}
		ok(t, execs[i].Launch(b.s))
		b.laterNode(t, i)
		return now
	}}
}

func execOf(t testing.TB, g *graph.Graph) *graph.Exec {
	t.Helper()
	x := must(g.Instantiate())(t)
	t.Cleanup(func() { ok(t, x.Close()) })
	return x
}

// othersAreBusy runs correct work in two other streams until the returned function is called. Waits
// for those streams may return faults of this stream, because a fault does not tell which stream it
// belongs to.
func othersAreBusy(t *testing.T, c *driver.Context, k *driver.Kernel) (stop func()) {
	var over atomic.Bool
	var all sync.WaitGroup
	for range 2 {
		s, out := stream(t, c), buffer(t, c, 32)
		all.Go(func() {
			total := int32(0)
			for !over.Load() {
				if err := k.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(32)}, sliceOf(out), int64(100)); err != nil {
					t.Error(err)
				}
				total += 100
				var f *driver.KernelFault
				if err := s.Wait(context.Background()); err != nil && !errors.As(err, &f) {
					t.Error(err)
				}
			}
			got := make([]int32, 32)
			ok(t, out.CopyTo(got))
			if got[0] != total || got[31] != total {
				t.Errorf("other work computed %d and %d, not %d", got[0], got[31], total)
			}
		})
	}
	return func() {
		over.Store(true)
		all.Wait()
	}
}
