package faulttest_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

// side is one of two kernels that run concurrently. All values in its faults differ from those of
// the other side.
type side struct {
	name   string // name of the package, the kernel and the file
	k      *driver.Kernel
	s      *driver.Stream
	x      *driver.Buffer[int32]
	blocks int
	slice  int64
	line   int
}

// pairText compiles testdata/pair.go under the given name, with empty lines inserted before the
// kernel.
func pairText(t testing.TB, name string, down int) []byte {
	t.Helper()
	text := must(sources.ReadFile("testdata/pair.go"))(t)
	text = bytes.ReplaceAll(text, []byte("package pair"), []byte(strings.Repeat("\n", down)+"package "+name))
	text = bytes.ReplaceAll(text, []byte("func fail("), []byte("func "+name+"("))
	out, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{Path: "example.org/" + name, Files: []go2ptx.File{{Name: name + "/" + name + ".go", Data: text}}}})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return out.PTX
}

// sides returns two sides that run the two kernels.
func sides(t testing.TB, c *driver.Context, names [2]string, kernels [2]*driver.Kernel, down [2]int) (both [2]*side) {
	for i := range both {
		r := &side{name: names[i], k: kernels[i], s: stream(t, c), x: buffer(t, c, 100+50*i), blocks: 40 + 20*i, slice: int64(i)}
		r.line = marked(t, "pair", []string{"index", "slice"}[i]) + down[i]
		both[i] = r
	}
	return both
}

const pairThreads = 64

// run launches the kernel for the given round.
func (r *side) run(t testing.TB, round int) {
	cfg := driver.LaunchConfig{Grid: driver.D1(r.blocks), Block: driver.D1(pairThreads)}
	ok(t, r.k.Launch(r.s, cfg, sliceOf(r.x), int64(round)<<16, r.slice))
}

// text returns the expected text of the fault that a thread records.
func (r *side) text(round int64, f *driver.KernelFault) string {
	i := round<<16 + int64(f.Block[0])*pairThreads + int64(f.Thread[0])
	what := fmt.Sprintf("index out of range [%d] with length %d", i, r.x.Len())
	if r.slice != 0 {
		what = fmt.Sprintf("slice bounds out of range [%d:%d] with capacity %d", i, i+1, r.x.Len())
	}
	return fmt.Sprintf("%s/%s.go:%d:%d: %s in kernel %s.%s, block (%d,0,0), thread (%d,0,0)%s",
		r.name, r.name, r.line, f.Column, what, r.name, r.name, f.Block[0], f.Thread[0], advice)
}

// is reports whether a fault belongs to this side and to the current or previous round. A wait for
// another stream may process a fault so late that this stream returns it in the next round.
func (r *side) is(round int, f *driver.KernelFault) bool {
	return f.Block[0] < uint32(r.blocks) && (f.Error() == r.text(int64(round), f) || f.Error() == r.text(int64(round-1), f))
}

// meet runs both sides concurrently, 500 times, and checks that each record comes from a single
// thread. If the sides share a slot, a wait returns the fault of whichever side failed first.
func meet(t *testing.T, both [2]*side, shared bool) {
	for round := 1; round <= 500; round++ {
		var all sync.WaitGroup
		for _, r := range both {
			all.Go(func() {
				r.run(t, round)
				faults := faultsOf(r.s.Wait(context.Background()))
				own := slices.ContainsFunc(faults, func(f *driver.KernelFault) bool { return r.is(round, f) })
				if len(faults) == 0 || !own && !shared {
					t.Errorf("round %d: the faults of %s are %v", round, r.name, faults)
				}
				for _, f := range faults {
					if !both[0].is(round, f) && !both[1].is(round, f) {
						t.Errorf("round %d: the record is of several faults: %v", round, f)
					}
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
	}
}

// Two modules in one context fault at the same time, in two streams. Each module has its own slot.
func TestTwoModulesFaultAtTheSameTime(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		names, down := [2]string{"left", "right"}, [2]int{3, 8}
		var kernels [2]*driver.Kernel
		for i, name := range names {
			m := must(c.LoadModule(pairText(t, name, down[i])))(t)
			t.Cleanup(func() { ok(t, m.Close()) })
			kernels[i] = kernel(t, m, name)
		}
		meet(t, sides(t, c, names, kernels, down), false)
	})
}

// Two modules that are linked together share a slot, and so do two launches of the same kernel.
func TestLinkedModulesFaultAtTheSameTime(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		names, down := [2]string{"left", "right"}, [2]int{3, 8}
		l := must(c.NewLinker())(t)
		for i, name := range names {
			ok(t, l.Add(name, pairText(t, name, down[i])))
		}
		m := must(l.Load())(t)
		t.Cleanup(func() { ok(t, m.Close()) })
		l.Close()
		kernels := [2]*driver.Kernel{kernel(t, m, "left"), kernel(t, m, "right")}
		meet(t, sides(t, c, names, kernels, down), true)
		meet(t, sides(t, c, [2]string{"left", "left"}, [2]*driver.Kernel{kernels[0], kernels[0]}, [2]int{3, 3}), true)
	})
}
