package graph_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// A Recording that is dropped is ended by the collector, reported, and its
// streams take work again.
func TestDroppedRecordingIsEndedAndReported(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range modes {
			b := k.memory()
			other := k.stream()
			onAGoroutine(func() { dropRecording(k, mode, b, other) })
			leaks := gputest.ExpectDropped(k, k.c.Device().Driver(), 1)
			if len(leaks) != 1 || leaks[0].Kind != "capture" || leaks[0].Err != nil ||
				!strings.Contains(leaks[0].Stack, "dropRecording") {
				k.Errorf("%v: reported %v", mode, leaks)
			}
			k.usable(k.s)
			k.usable(other)
			k.expect(b, 1)
		}
	})
}

// onAGoroutine runs f on a goroutine that ends with it.
func onAGoroutine(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// dropRecording leaves a capture open that has recorded on two streams.
func dropRecording(k *kit, mode graph.Mode, b *driver.Buffer[uint32], other *driver.Stream) {
	r, err := graph.Begin(k.s, mode)
	if err != nil {
		k.Error(err)
		return
	}
	f, err := r.Scope().Fork(other)
	if err != nil {
		k.Error(err)
		return
	}
	for _, sc := range []*graph.Scope{r.Scope(), f} {
		if err := sc.Do(k.launch(k.plus, b, 1)); err != nil {
			k.Error(err)
		}
	}
}

// The thread that began the capture may go on to live.
func TestDroppedRecordingOfALivingGoroutine(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.memory(), k.stream()
		next, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			dropRecording(k, graph.ModeThreadLocal, b, other)
			next <- struct{}{}
			<-next
		}()
		<-next
		gputest.ExpectDropped(k, k.c.Device().Driver(), 1)
		k.usable(k.s)
		next <- struct{}{}
		<-done
	})
}

// The graph that was asked for goes with its capture.
func TestDroppedRecordingClosesItsGraph(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range modes {
			var g *graph.Graph
			onAGoroutine(func() {
				r, err := graph.Begin(k.s, mode)
				if err == nil {
					g, err = r.Scope().Graph()
				}
				if err != nil {
					k.Error(err)
				}
			})
			gputest.ExpectDropped(k, k.c.Device().Driver(), 1)
			if _, err := g.AddEmpty(); err == nil {
				k.Errorf("%v: the graph of a dropped capture takes nodes", mode)
			}
			k.usable(k.s)
		}
	})
}

// A scope in use, or one that was forked, keeps its capture open.
func TestRecordingIsOpenWhileAScopeIsReachable(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.memory(), k.stream()
		fork := forkOnly(k, other)
		for range 3 {
			runtime.GC()
		}
		k.ok(fork.Do(k.launch(k.plus, b, 1)))
		if !fork.Active() {
			k.Error("the capture ended under its scope")
		}
		fork = nil
		gputest.ExpectDropped(k, k.c.Device().Driver(), 1)
		k.usable(k.s)
		k.usable(other)
	})
}

func forkOnly(k *kit, other *driver.Stream) *graph.Scope {
	r, err := graph.Begin(k.s, graph.ModeRelaxed)
	k.ok(err)
	f, err := r.Scope().Fork(other)
	k.ok(err)
	return f
}

func TestDroppedRecordingIntoAGraph(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		first := k.add(g, k.launch(k.plus, b, 2))
		onAGoroutine(func() {
			r, err := beginInto(g, k.s, graph.ModeRelaxed, first)
			if err == nil {
				err = r.Scope().Do(k.launch(k.times, b, 3))
			}
			if err != nil {
				k.Error(err)
			}
		})
		gputest.ExpectDropped(k, k.c.Device().Driver(), 1)
		if n, err := g.Len(); n != 1 || err != nil {
			k.Errorf("%d nodes (%v), want what was there before", n, err)
		}
		k.run(k.exec(g))
		k.expect(b, 3)
	})
}
