package arena_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/arena"
)

// lost checks that err reports a buffer of the plan named plan that a graph of the plan named by
// overwrote.
func (k *kit) lost(err error, plan, by string) {
	k.Helper()
	var e *arena.OverwrittenError
	if !errors.As(err, &e) || e.Plan != plan || e.By != by || !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_STATE) {
		k.Errorf("got %v, want a buffer of %q that %q overwrote", err, plan, by)
		return
	}
	if s := err.Error(); !strings.Contains(s, plan) || !strings.Contains(s, by) {
		k.Errorf("%s", s)
	}
}

// results returns two graphs whose plans use the same range. The memory of the first plan is
// closed, and the result of the second is open.
func (k *kit) results(opts ...arena.Option) (a *arena.Arena, first, second *member) {
	k.Helper()
	a, first, second = k.pair(opts...)
	k.OK(second.p.Seal(second.in))
	return a, first, second
}

// A result must count as valid until a graph of another plan is launched in its range, and again
// after the next launch of its own plan.
func TestCheckReportsOverwrittenResults(t *testing.T) {
	each(t, func(k *kit) {
		a, first, second := k.results()
		k.OK(a.Check(second.in))
		for range 3 {
			k.OK(second.x.Launch(k.S))
			k.OK(errors.Join(a.Check(second.in), second.p.Valid()))
			k.Expect(second.in, 22)
			k.OK(first.x.Launch(k.S))
			k.lost(a.Check(second.in), "second", "first")
			k.lost(a.Check(second.in.View(0, 1)), "second", "first")
			k.lost(second.p.Valid(), "second", "first")
			k.Expect(second.in, 11)
		}
		k.OK(first.p.Valid()) // has no open buffers
		k.OK(first.x.Close())
		k.lost(a.Check(second.in), "second", "first") // closing the graph does not restore the result
		k.OK(second.x.Launch(k.S))
		k.OK(a.Check(second.in))
	})
}

// A launch in another range of the arena must not count as overwriting.
func TestCheckLooksAtRanges(t *testing.T) {
	each(t, func(k *kit) {
		a := k.arena()
		first, second := k.member(a, "first", 10, 1), k.member(a, "second", 20, 2)
		k.OK(errors.Join(first.x.Launch(k.S), second.x.Launch(k.S)))
		k.OK(errors.Join(a.Check(first.in), a.Check(second.in)))
		k.Expect(first.in, 11)
		k.Expect(second.in, 22)
	})
}

// A buffer that is allocated in the range of an already closed graph must not be reported, because
// nothing has overwritten it since.
func TestCheckIgnoresEarlierLaunches(t *testing.T) {
	each(t, func(k *kit) {
		a := k.arena()
		first := k.member(a, "first", 10, 1)
		k.OK(first.p.Seal())
		k.OK(first.x.Launch(k.S))
		k.Wait(k.S)
		k.OK(first.x.Close())
		k.OK(a.Check(k.alloc(k.plan(a, "second"), elems)))
	})
}

func TestCheckRejectsOtherMemory(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.arena(), k.arena()
		other := k.alloc(k.plan(b, "other"), elems)
		var none *driver.Buffer[uint32]
		for _, m := range []driver.Memory{k.Memory(), other, nil, none} {
			if err := a.Check(m); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("%v: %v", m, err)
			}
		}
		closed := k.alloc(k.plan(a, "closed"), elems)
		k.OK(closed.Close())
		if err := a.Check(closed); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("got %v", err)
		}
	})
}

// With WithCheck, a launch that overwrites a result must be reported once, unless the program has
// already checked the result.
func TestCheckModeReportsLostResults(t *testing.T) {
	each(t, func(k *kit) {
		var reported []error
		a, first, second := k.results(arena.WithCheck(func(err error) { reported = append(reported, err) }))
		k.OK(first.x.Launch(k.S)) // nothing was written yet
		k.OK(second.x.Launch(k.S))
		k.OK(a.Check(second.in))
		k.OK(first.x.Launch(k.S)) // not reported, because the result was checked
		if len(reported) != 0 {
			k.Fatalf("reported %v", reported)
		}
		k.OK(second.x.Launch(k.S))
		k.OK(first.x.Launch(k.S))
		k.OK(first.x.Launch(k.S)) // not reported again
		if len(reported) != 1 {
			k.Fatalf("reported %v", reported)
		}
		k.lost(reported[0], "second", "first")
		k.Wait(k.S)
	})
}

// With WithCheck, the launch of a graph that uses a lost result of another plan must be reported.
func TestCheckModeReportsGraphsThatReadLostResults(t *testing.T) {
	each(t, func(k *kit) {
		var reported []error
		a, first, second := k.results(arena.WithCheck(func(err error) { reported = append(reported, err) }))
		p := k.plan(a, "reader")
		own := k.alloc(p, elems)
		read, err := driver.CopyDevice(own, second.in)
		k.OK(err)
		g := k.Graph()
		k.Add(g, read)
		reader := k.Exec(g)
		k.OK(errors.Join(second.x.Launch(k.S), reader.Launch(k.S), a.Check(second.in)))
		if len(reported) != 0 {
			k.Fatalf("reported %v", reported)
		}
		k.OK(errors.Join(first.x.Launch(k.S), reader.Launch(k.S)))
		if len(reported) != 1 {
			k.Fatalf("reported %v", reported)
		}
		k.lost(reported[0], "second", "first")
		if !strings.Contains(reported[0].Error(), `"reader"`) {
			k.Errorf("%v", reported[0])
		}
		k.Wait(k.S)
	})
}

func TestReport(t *testing.T) {
	each(t, func(k *kit) {
		a, _, second := k.results()
		r := a.Report()
		if len(r.Plans) != 2 || r.Plans[0].Graphs != 1 || r.Plans[0].Bytes != 4*elems || len(r.Plans[0].Open) != 0 || len(r.Plans[1].Open) != 1 {
			k.Errorf("%+v", r)
		}
		for _, want := range []string{"in 1 chunks", `plan "first": `, `plan "second": `, "open: buffer of uint32"} {
			if !strings.Contains(r.String(), want) {
				k.Errorf("%q is missing in %s", want, r)
			}
		}
		k.OK(second.x.Close())
		if r := a.Report(); r.Plans[1].Graphs != 0 {
			k.Errorf("%+v", r)
		}
	})
}

// After a graph is changed to use other memory, its earlier launches must still count as using the
// old memory.
func TestCheckFollowsChangedMemory(t *testing.T) {
	each(t, func(k *kit) {
		a := k.arena()
		p := k.plan(a, "first")
		old, other := k.alloc(p, elems), k.alloc(p, elems)
		toOld, toOther := k.Launch(k.Plus, old, 1), k.Launch(k.Plus, other, 1)
		g := k.Graph()
		n := k.Add(g, toOld)
		x := k.Exec(g)
		k.OK(p.Seal(other))
		second := k.member(a, "second", 20, 2)
		k.OK(second.x.Launch(k.S))
		k.OK(errors.Join(a.Check(other), a.Check(second.in)))
		k.OK(x.Launch(k.S))
		k.OK(x.Set(n, toOther))
		k.OK(x.Launch(k.S))
		k.lost(a.Check(second.in), "second", "first")
		k.OK(second.x.Launch(k.S))
		k.OK(x.Launch(k.S)) // this launch no longer writes to the old buffer
		k.OK(errors.Join(a.Check(second.in), a.Check(other)))
		k.Wait(k.S)
	})
}
