package graph_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

func TestInstantiateOptionsReachTheDriver(t *testing.T) {
	var flags uint64
	c := gputest.Watched(t, cu.FnCuGraphInstantiateWithParams, func(a loader.Args) {
		flags = (*cu.CUDA_GRAPH_INSTANTIATE_PARAMS)(a.Ptr(2)).Flags
	})
	for _, o := range []struct {
		option graph.Option
		want   cu.CUgraphInstantiate_flags
	}{
		{graph.WithAutoFree(), cu.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH},
		{graph.WithNodePriorities(), cu.CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY},
	} {
		g, err := graph.New(c)
		check(t, err)
		_, err = g.AddEmpty()
		check(t, err)
		x, err := g.Instantiate(o.option)
		check(t, err)
		if cu.CUgraphInstantiate_flags(flags) != o.want {
			t.Errorf("flags %#x, want %v", flags, o.want)
		}
		check(t, x.Close())
		check(t, g.Close())
	}
}

func TestAutoFreeIsAFlagOfTheExec(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		g, err := graph.New(c)
		check(t, err)
		defer g.Close()
		_, err = g.AddEmpty()
		check(t, err)
		x, err := g.Instantiate(graph.WithAutoFree())
		check(t, err)
		defer x.Close()
		flags, err := x.Flags()
		check(t, err)
		if flags != cu.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH {
			t.Errorf("flags %v", flags)
		}
	})
}
