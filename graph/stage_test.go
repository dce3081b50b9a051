package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// stageKit is an exec that adds its input to its output, and operations that fill the
// input with 1 to 9.
func stageKit(k *kit) (x *graph.Exec, out *driver.Buffer[uint32], in [10]driver.Op) {
	k.Helper()
	out = k.memory()
	input := k.memoryOf(0)
	k.closeLater(input)
	for v := range in {
		op, err := driver.Fill[uint32](input, uint32(v))
		k.ok(err)
		in[v] = op
	}
	g := k.graph()
	n := k.add(g, k.sumOf(out, out, input))
	for range 20 { // long enough for a race to show
		n = k.add(g, k.launch(k.plus, out, 0), n)
	}
	k.add(g, k.sumOf(out, out, input), n)
	return k.exec(g), out, in
}

func TestStagedInputsAreThoseOfTheNextLaunch(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		want := uint32(1)
		for v := range uint32(10) {
			k.ok(x.Stage(k.s, in[v]))
			k.ok(x.Launch(k.s))
			want += 2 * v
		}
		k.expect(out, want)
	})
}

// Whatever streams are used, staging does not overtake the launch before nor the
// launch after what was staged for it.
func TestStagingIsOrderedAcrossStreams(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		streams := []*driver.Stream{k.s, k.stream(), k.stream()}
		want := uint32(1)
		for i := range 60 {
			v := i % len(in)
			k.ok(x.Stage(streams[i%3], in[0]))
			k.ok(x.Stage(streams[i%2], in[v])) // of two, the later one counts
			k.ok(x.Launch(streams[(i+i/3)%3]))
			want += 2 * uint32(v)
		}
		k.ok(x.Wait(background))
		k.expect(out, want)
	})
}

func TestBoundLaunchWaitsForWhatIsStaged(t *testing.T) {
	each(t, func(k *kit) {
		b, input := k.memory(), k.memory()
		g := k.graph()
		l := k.launch(k.plus, b, 0)
		first := k.add(g, l)
		k.add(g, k.sumOf(b, b, input), first)
		x := k.exec(g)
		bs := x.Bindings()
		add := bind[uint32](k, bs, first, l, "v")
		fill, err := driver.Fill[uint32](input, 100)
		k.ok(err)
		other := k.stream()
		k.ok(x.Stage(other, fill))
		k.ok(add.Set(5))
		k.ok(bs.Launch(k.s))
		k.expect(b, 106)
	})
}

func TestStagingOnAStreamThatIsClosedThen(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		other, err := k.c.NewStream()
		k.ok(err)
		k.ok(x.Stage(other, in[4]))
		k.ok(other.Close())
		k.ok(x.Launch(k.s))
		k.expect(out, 9)
		if err := x.Stage(other, in[1]); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("got %v", err)
		}
	})
}

func TestStagingSaysWhichOperationIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		err := x.Stage(k.s, in[3], nil)
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "operation 1") {
			k.Errorf("got %v", err)
		}
		k.run(x)
		k.expect(out, 7)
		var none *graph.Exec
		if err := none.Stage(k.s, in[0]); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("got %v", err)
		}
		if err := x.Stage(nil, in[0]); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("got %v", err)
		}
	})
}
