package faulttest_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/cache"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

func init() {
	flows = append(flows,
		flow{"capture into a graph", func(k *kit, b *driver.Buffer[uint32]) error {
			g, err := graph.New(k.C)
			if err != nil {
				return err
			}
			return errors.Join(captureInto(k, b, g), g.Close())
		}},
		flow{"nodes by hand during a capture", func(k *kit, b *driver.Buffer[uint32]) error {
			l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
			if err != nil {
				return err
			}
			g, err := graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error { return byHandAndParallel(sc, l) })
			if err != nil {
				return err
			}
			return errors.Join(replay(k, g), g.Close())
		}},
		flow{"capture made ready, with a relaxed section", func(k *kit, b *driver.Buffer[uint32]) error {
			c, err := callable.CaptureReady(background, k.S, graph.ModeGlobal, func(sc *graph.Scope) (n int, err error) {
				return 1, sc.Relaxed(func() error {
					l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
					if err != nil {
						return err
					}
					return sc.Do(l)
				})
			})
			if err != nil {
				return err
			}
			return errors.Join(c.Exec.Run(background, k.S), c.Close())
		}},
		flow{"record by hand and by capture", func(k *kit, b *driver.Buffer[uint32]) error {
			l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
			if err != nil {
				return err
			}
			var byHand *graph.Graph
			r, err := graph.Begin(k.S, graph.ModeThreadLocal)
			if err != nil {
				return err
			}
			byHand, err = graphtest.Sequence(k.C, l, l)
			if err != nil {
				return errors.Join(err, r.Abort())
			}
			g, err := r.End()
			if err != nil {
				return errors.Join(err, byHand.Close())
			}
			return errors.Join(replay(k, g), replay(k, byHand), g.Close(), byHand.Close())
		}},
	)
}

func captureInto(k *kit, b *driver.Buffer[uint32], g *graph.Graph) error {
	l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	first, err := g.Add(l)
	if err != nil {
		return err
	}
	last, err := graphtest.CaptureInto(g, k.S, graph.ModeThreadLocal, []graph.Node{first}, func(sc *graph.Scope) error {
		return errors.Join(sc.Do(l), sc.Do(l))
	})
	if err != nil {
		return err
	}
	if _, err := g.Add(l, last...); err != nil {
		return err
	}
	return replay(k, g)
}

func byHandAndParallel(sc *graph.Scope, l *driver.Launch) error {
	g, err := sc.Graph()
	if err != nil {
		return err
	}
	n, err := g.Add(l)
	if err != nil {
		return err
	}
	if err := graphtest.AlsoAfter(sc, n); err != nil {
		return err
	}
	do := func(sc *graph.Scope) error { return sc.Do(l) }
	return sc.Parallel(do, do)
}

// failing runs run once to check that it works. Then, for each driver call that run makes, failing
// runs it again with that call failing. run must return the error of the failing call.
func (k *kit) failing(lib *faulty.Library, what string, run func() error) {
	k.Helper()
	k.OK(run())
	lib.Count()
	err := run()
	calls := lib.Stop()
	k.OK(err)
	if len(calls) == 0 {
		k.Errorf("%s makes no driver call", what)
	}
	for i, c := range calls {
		lib.FailNth(i+1, uint32(graphtest.Injected))
		err := run()
		lib.Stop()
		if !errors.Is(err, graphtest.Injected) {
			k.Errorf("%s: %s failed (call %d of %d), got %v", what, c.Symbol, i+1, len(calls), err)
		}
		k.Usable(k.S)
	}
}

func TestCapturesIntoABodyReportEachFailure(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	lib.Ignore("cuThreadExchangeStreamCaptureMode", "cuCtxSetCurrent", "cuCtxGetCurrent")
	l := k.Launch(k.Plus, k.Memory(), 1)
	k.failing(lib, "a capture into a body", func() error {
		g, err := graph.New(k.C)
		if err != nil {
			return err
		}
		c, err := g.NewCond()
		if err != nil {
			return errors.Join(err, g.Close())
		}
		_, body, err := g.AddIf(c)
		if err != nil {
			return errors.Join(err, g.Close())
		}
		first, err := body.Add(l)
		if err != nil {
			return errors.Join(err, g.Close())
		}
		last, err := graphtest.CaptureInto(body, k.S, graph.ModeThreadLocal, []graph.Node{first}, func(sc *graph.Scope) error {
			return errors.Join(sc.Do(l), sc.Do(l))
		})
		if err != nil {
			return errors.Join(err, g.Close())
		}
		deps, err := last[0].Dependencies()
		if err == nil && len(deps) != 1 {
			err = errors.New("the last node does not come after the first")
		}
		return errors.Join(err, g.Close())
	})
}

// A graph must retain the objects that the captures of its bodies retained. If it cannot, the outer
// capture must fail.
func TestWhatABodyRetainsIsRetainedByItsGraph(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	lib.Ignore("cuThreadExchangeStreamCaptureMode", "cuCtxSetCurrent", "cuCtxGetCurrent")
	l := k.Launch(k.Plus, k.Memory(), 1)
	capture := func() error {
		u, err := k.C.NewUserObject(func() {})
		if err != nil {
			return err
		}
		g, err := graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			c, err := sc.NewCond()
			if err != nil {
				return err
			}
			return sc.If(c, func(inner *graph.Scope) error {
				body, err := inner.Graph()
				if err != nil {
					return err
				}
				if err := body.RetainUserObject(u, 1); err != nil {
					return err
				}
				return inner.Do(l)
			})
		})
		if err != nil {
			return errors.Join(err, u.Close())
		}
		return errors.Join(g.Close(), u.Close())
	}
	k.failing(lib, "a body with a user object", capture)
}

// If graph memory is freed through a cache in a capture of other code, the free must become part of
// that capture.
func TestACacheFreesIntoACaptureOfOthers(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	blocks, err := cache.New(k.C)
	k.OK(err)
	k.CloseLater(blocks)
	g, b := k.Leaving(3)
	x := k.Exec(g)
	k.Run(x)
	d := k.C.Driver()
	k.OK(d.CuStreamBeginCapture(k.S.Raw(), cu.CU_STREAM_CAPTURE_MODE_RELAXED))
	err = blocks.Free(k.S, b)
	var raw driver.CUgraph
	ended := d.CuStreamEndCapture(k.S.Raw(), &raw)
	if err == nil && ended != nil {
		t.Errorf("the capture is broken (%v), without an error", ended)
	}
	if raw != 0 {
		k.OK(d.CuGraphDestroy(raw))
	}
	if err := b.Fill(1); !errors.Is(err, driver.ErrClosed) && err == nil {
		t.Error("the buffer is still open")
	}
}

func init() {
	flows = append(flows,
		flow{"loop by hand", func(k *kit, b *driver.Buffer[uint32]) error {
			g, err := graph.New(k.C)
			if err != nil {
				return err
			}
			return errors.Join(loopByHand(k, g, b), g.Close())
		}},
		flow{"switch in an if, updated", func(k *kit, b *driver.Buffer[uint32]) error {
			g, err := graph.New(k.C)
			if err != nil {
				return err
			}
			return errors.Join(decide(k, g, b), g.Close())
		}},
		flow{"nested loop captured", func(k *kit, b *driver.Buffer[uint32]) error {
			g, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error { return captureLoop(k, sc, b) })
			if err != nil {
				return err
			}
			return errors.Join(replay(k, g), g.Close())
		}},
		flow{"capture into a body", func(k *kit, b *driver.Buffer[uint32]) error {
			g, err := graph.New(k.C)
			if err != nil {
				return err
			}
			return errors.Join(captureBody(k, g, b), g.Close())
		}},
	)
}

// loopByHand adds a loop of three iterations, with b[0] as the counter.
func loopByHand(k *kit, g *graph.Graph, b *driver.Buffer[uint32]) error {
	c, err := g.NewCond()
	if err != nil {
		return err
	}
	loop, err := c.Within(b, 3)
	if err != nil {
		return err
	}
	start, err := loop.Start()
	if err != nil {
		return err
	}
	next, err := loop.Next()
	if err != nil {
		return err
	}
	n, err := g.Add(start)
	if err != nil {
		return err
	}
	_, body, err := g.AddWhile(c, n)
	if err != nil {
		return err
	}
	if _, err := body.Add(next); err != nil {
		return err
	}
	return replay(k, g)
}

func decide(k *kit, g *graph.Graph, b *driver.Buffer[uint32]) error {
	l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	c, err := g.NewCond(graph.WithDefault(1))
	if err != nil {
		return err
	}
	d, err := g.NewCond(graph.WithDefault(2))
	if err != nil {
		return err
	}
	_, then, _, err := g.AddIfElse(c)
	if err != nil {
		return err
	}
	_, bodies, err := then.AddSwitch(d, 3)
	if err != nil {
		return err
	}
	n, err := bodies[2].Add(l)
	if err != nil {
		return err
	}
	x, err := g.Instantiate()
	if err != nil {
		return err
	}
	err = x.Set(n, l)
	if err == nil {
		_, err = x.Update(g)
	}
	if err == nil {
		err = x.Run(background, k.S)
	}
	return errors.Join(err, x.Close())
}

func captureLoop(k *kit, sc *graph.Scope, b *driver.Buffer[uint32]) error {
	c, err := sc.NewCond()
	if err != nil {
		return err
	}
	loop, err := c.Within(b, 2)
	if err != nil {
		return err
	}
	start, err := loop.Start()
	if err != nil {
		return err
	}
	next, err := loop.Next()
	if err != nil {
		return err
	}
	if err := sc.Do(start); err != nil {
		return err
	}
	return sc.While(c, func(body *graph.Scope) error {
		d, err := body.NewCond(graph.WithDefault(1))
		if err != nil {
			return err
		}
		if err := body.If(d, nil); err != nil {
			return err
		}
		return body.Do(next)
	})
}

func captureBody(k *kit, g *graph.Graph, b *driver.Buffer[uint32]) error {
	l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	fill, err := driver.Fill[uint32](b, 7)
	if err != nil {
		return err
	}
	c, err := g.NewCond(graph.WithDefault(1))
	if err != nil {
		return err
	}
	_, body, err := g.AddIf(c)
	if err != nil {
		return err
	}
	n, err := graphtest.CaptureInto(body, k.S, graph.ModeThreadLocal, nil, graphtest.Does(fill, l))
	if err != nil {
		return err
	}
	if _, err := body.Add(l, n...); err != nil {
		return err
	}
	return replay(k, g)
}
