package guides

import (
	"context"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestOpenedContextComputes(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		c, m, err := open(d, saxpyPTX)
		ok(t, err)
		s := must(c.NewStream())(t)
		y := filled(elements, 1)
		ok(t, saxpyOnce(c, s, must(m.Kernel("saxpy"))(t), filled(elements, 3), y, 2))
		ok(t, all(y, 7))
		ok(t, s.Close())
		ok(t, m.Close())
		ok(t, c.Close())
	})
}

func TestCapturedStepsReplay(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		exec := must(captured(v.stream, must(v.add(2))(t), 3))(t)
		for range 2 {
			ok(t, exec.Launch(v.stream))
		}
		v.holds(t, 12)
		ok(t, exec.Close())
	})
}

func TestGraphByHandHasTheNewArgument(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		in := kept(t, must(driver.AllocHostFrom(v.ctx, filled(elements, 5)))(t))
		out := kept(t, must(driver.AllocHost[float32](v.ctx, elements))(t))
		up := must(driver.Upload(v.x, in))(t)
		down := must(driver.Download(out, v.y))(t)
		exec := must(byHand(v.ctx, up, down, must(v.add(1))(t)))(t)
		ok(t, exec.Run(context.Background(), v.stream))
		ok(t, all(out.Slice(), 15))
		ok(t, exec.Close())
	})
}

// The kernel's third parameter is not a number, so byHand must fail and close the graph that
// it has already created.
func TestGraphByHandIsClosedWhereItsArgumentIsWrong(t *testing.T) {
	const noNumber = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry three(.param .u64 x, .param .u64 y, .param .u64 z)\n{\n\tret;\n}\n"
	eachVectors(t, func(t *testing.T, v *vectors) {
		m := kept(t, must(v.ctx.LoadModule([]byte(noNumber)))(t))
		launch := must(must(m.Kernel("three"))(t).Prepare(v.config(), v.x, v.y, v.x))(t)
		in := kept(t, must(driver.AllocHost[float32](v.ctx, elements))(t))
		up := must(driver.Upload(v.x, in))(t)
		down := must(driver.Download(in, v.y))(t)
		if exec, err := byHand(v.ctx, up, down, launch); err == nil || exec != nil {
			t.Errorf("it returns %v and %v", exec, err)
		}
	})
}

func TestSecondStreamWaitsForTheFirst(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		other := kept(t, must(v.ctx.NewStream())(t))
		event := kept(t, must(v.ctx.NewEvent())(t))
		fill := must(driver.Fill(v.y, 10))(t)
		ok(t, twoStreams(other, v.stream, event, fill, must(v.add(1))(t)))
		v.holds(t, 11)
	})
}

func TestRawCallsAnswer(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		version, free, total, err := rawVersion(c)
		ok(t, err)
		if int(version) < driver.MinVersion || free > total || total == 0 {
			t.Errorf("version %d, %d of %d bytes free", version, free, total)
		}
	})
}

func TestGoroutinesShareAContext(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		ok(t, inParallel(v.ctx, 20, func(s *driver.Stream) error {
			y := filled(elements, 1)
			if err := saxpyOnce(v.ctx, s, v.saxpy, filled(elements, 3), y, 2); err != nil {
				return err
			}
			return all(y, 7)
		}))
		closed := driver.Op((*driver.Launch)(nil))
		if inParallel(v.ctx, 2, func(s *driver.Stream) error { return s.Do(closed) }) == nil {
			t.Error("an error of a goroutine got lost")
		}
	})
}

func TestSaxpyIsCapturedAndReplayed(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		ok(t, all(must(capturedSaxpy(v.ctx, v.saxpy, filled(elements, 3)))(t), 60))
	})
}

func TestStaticInputsChangeBetweenReplays(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		in := kept(t, must(driver.AllocHost[float32](v.ctx, elements))(t))
		out := kept(t, must(driver.AllocHost[float32](v.ctx, elements))(t))
		ops := []driver.Op{must(driver.Upload(v.x, in))(t), must(driver.Fill(v.y, 1))(t), must(v.add(2))(t), must(driver.Download(out, v.y))(t)}
		batches := [][]float32{filled(elements, 1), filled(elements, 2), filled(elements, 3)}
		if sum := must(replayStatic(v.stream, in, out, ops, batches))(t); sum != 3+5+7 {
			t.Errorf("the sum is %v", sum)
		}
	})
}

func TestGraphedFunctionFollowsItsInput(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		call := must(graphed(v.stream, v.saxpy))(t)
		for _, b := range []batch{{filled(10, 3), 2}, {filled(10, 4), 2}, {filled(10, 4), 5}, {filled(7, 1), 5}} {
			out := must(call.Call(context.Background(), b))(t)
			if len(out.Slice()) != len(b.x) {
				t.Errorf("%d elements of %d", len(out.Slice()), len(b.x))
			}
			ok(t, all(out.Slice(), b.x[0]*b.a))
		}
		if got := call.Stats(); got.Calls != 4 || got.Recorded != 3 || got.Variants != 2 {
			t.Errorf("it did %+v", got)
		}
		ok(t, call.Close())
	})
}
