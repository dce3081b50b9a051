package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// A burst takes its room from those that ended, whatever the number of launches.
func TestBurstsUseTheirRoomAgain(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Driver(t, new(nullCapture))))
	hook := driver.SetLeakHook(nil)
	defer driver.SetLeakHook(hook)
	l := k.launch(k.plus, k.memory(), 1)
	k.most(4, "a capture with a burst", func() {
		g, err := graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			return sc.Burst(func(b *graph.Burst) error {
				for range 300 {
					if err := b.Do(l); err != nil {
						return err
					}
				}
				return nil
			})
		})
		k.ok(err)
		k.ok(g.Close())
	})
}

// countedLaunches is a null driver that counts its launches.
type countedLaunches struct {
	nullCapture
	n int
}

func (d *countedLaunches) Lookup(symbol string) (loader.Proc, error) {
	if strings.HasPrefix(symbol, "cuLaunchKernel") {
		return loader.FuncProc(func(loader.Args) uintptr { d.n++; return 0 }), nil
	}
	return d.nullCapture.Lookup(symbol)
}

// The launches of a burst wait for each other: they are sent as a batch.
func TestBurstsSendLaunchesTogether(t *testing.T) {
	d := new(countedLaunches)
	k := newKit(t, gputest.Context(t, gputest.Driver(t, d)))
	l, other := k.launch(k.plus, k.memory(), 1), k.launch(k.times, k.memory(), 1)
	g, err := graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		err := sc.Burst(func(b *graph.Burst) error {
			for range 10 {
				k.ok(errors.Join(b.Do(l), b.Do(other)))
			}
			if d.n != 0 {
				k.Errorf("%d of 20 launches were sent one by one", d.n)
			}
			return nil
		})
		if d.n != 20 {
			k.Errorf("%d of 20 launches were sent", d.n)
		}
		return err
	})
	k.ok(err)
	k.ok(g.Close())
}

// The tables of a closed graph serve the next one.
func TestGraphsUseTheirTablesAgain(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Driver(t, new(nullCapture))))
	hook := driver.SetLeakHook(nil)
	defer driver.SetLeakHook(hook)
	const nodes = 1000
	k.most(2+nodes*allocsPerCall, "a graph of many nodes", func() {
		g, err := graph.New(k.c)
		k.ok(err)
		for range nodes {
			_, err := g.AddEmpty()
			k.ok(err)
		}
		k.ok(g.Close())
	})
}
