package callable_test

import (
	"math/rand/v2"
	"testing"

	"github.com/purecuda/cuda/graph/callable"
)

// A loop calls five shapes in random order. The constants of the last shape change in every call.
// That shape must end eager, and the other shapes must end replayed. The test prints how many kernel
// launches the host makes, compared with a Callable that never records and one that always records.
func TestLaunchesThatAdaptiveRecordingSaves(t *testing.T) {
	each(t, func(k *kit) {
		const kernels, shapes, calls, first = 16, 5, 400, 2
		run := func(name string, adaptive bool, opts ...callable.Option) callable.Stats {
			c := made(k, k.several(kernels), nil, opts...)
			random := rand.New(rand.NewPCG(3, 4))
			var last [shapes]callable.Stats // what the latest call of each shape did
			for i := range uint32(calls) {
				n := random.IntN(shapes)
				in := affine{ramp(n+1, i), 1, 5}
				if n == shapes-1 {
					in.add = i
				}
				before := c.Stats()
				out, err := c.Call(background, in)
				k.OK(err)
				for j, got := range out.Slice() {
					if want := in.x[j] + kernels*in.add; got != want {
						t.Fatalf("element %d is %d, want %d", j, got, want)
					}
				}
				s := c.Stats()
				last[n] = callable.Stats{Eager: s.Eager - before.Eager, Replayed: s.Replayed - before.Replayed, Recorded: s.Recorded - before.Recorded}
			}
			for n, did := range last {
				want := callable.Stats{Replayed: 1}
				if n == shapes-1 {
					want = callable.Stats{Eager: 1}
				}
				if adaptive && did != want {
					t.Errorf("the last call of shape %d did %+v", n, did)
				}
			}
			s := c.Stats()
			t.Logf("%-16s | %5d | %5d | %8d | %8d | %7d | %10d | %10d", name, s.Calls, s.Eager, s.Replayed, s.Recorded, s.Updated,
				s.Eager*kernels+s.Replayed, s.Replayed*(kernels-1))
			return s
		}
		t.Logf("%d kernels a call, %d shapes", kernels, shapes)
		t.Log("                 | calls | eager | replayed | recorded | updated | launches   | saved")
		run("never recorded", false, callable.WithAdaptive(1<<30))
		run("always recorded", false)
		s := run("WithAdaptive(2)", true, callable.WithAdaptive(first))
		if s.GivenUp != 1 || s.Recorded > 20 || s.Replayed < calls/2 {
			t.Errorf("did %+v", s)
		}
	})
}
