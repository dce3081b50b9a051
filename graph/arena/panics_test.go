package arena_test

import (
	"runtime"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/arena"
)

// A report that ends its goroutine, as with t.Fatal, must not leave anything locked. The reported
// launch must count, so that its memory stays allocated until the launch has ended.
func TestReportThatEndsItsGoroutine(t *testing.T) {
	each(t, func(k *kit) {
		_, first, second := k.pair(arena.WithCheck(func(error) { runtime.Goexit() }))
		k.OK(second.p.Seal())
		third := k.member(first.p.Arena(), "third", 40, 4)
		launches := map[string]func() error{
			"launch":   func() error { return second.x.Launch(k.S) },
			"bindings": func() error { return second.x.Bindings().Launch(k.S) },
			"run":      func() error { return second.x.Run(background, k.S) },
		}
		for name, launch := range launches {
			k.OK(third.x.Launch(k.S)) // a result that second overwrites, because second is older
			before := second.x.Replays()
			ended := make(chan bool)
			go func() {
				returned := false
				defer func() { ended <- returned }()
				_ = launch()
				returned = true
			}()
			if <-ended {
				t.Errorf("%s: nothing was reported", name)
			}
			if n := second.x.Replays() - before; n != 1 {
				t.Errorf("%s: %d launches count", name, n)
			}
		}
		k.Wait(k.S)
	})
}

// Operations that are staged in the per-thread stream must run before the later launches of other
// graphs of the arena, on whichever thread those are launched.
func TestStageInThePerThreadStream(t *testing.T) {
	each(t, func(k *kit) {
		a := k.arena()
		first := k.member(a, "first", 10, 1)
		k.OK(first.p.Seal())
		in, out := k.alloc(k.plan(a, "second"), elems), k.Memory()
		down, err := driver.CopyDevice(out, in)
		k.OK(err)
		g := k.Graph()
		k.Add(g, down)
		x := k.Exec(g)
		fill, err := driver.Fill(in, uint32(5))
		k.OK(err)
		s := k.C.PerThreadStream()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		release := k.blocked(s)
		defer release()
		k.OK(x.Stage(s, fill))
		k.OK(first.x.Launch(k.S))
		k.waits("a launch after staged work", k.S)
		release()
		k.Wait(k.S)
		k.OK(x.Run(background, k.S))
		k.OK(x.Wait(background))
	})
}
