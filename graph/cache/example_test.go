package cache_test

import (
	"fmt"
	"log"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/cache"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

// A capture gets its own memory, which returns to the cache when the graph is closed.
func ExampleCache() {
	c, s, _, _, _ := graphtest.Open()
	blocks, err := cache.New(c)
	must(err)
	defer blocks.Close()
	g, err := graph.Capture(s, graph.ModeGlobal, func(sc *graph.Scope) error {
		b, err := cache.Alloc[uint32](blocks, sc.Stream(), 100)
		if err != nil {
			return err
		}
		set, err := driver.Fill(b, uint32(1))
		if err != nil {
			return err
		}
		if err := sc.Do(set); err != nil {
			return err
		}
		return blocks.Free(sc.Stream(), b)
	})
	must(err)
	fmt.Println("graph's:", blocks.Stats().OfGraphs, "free:", blocks.Stats().Free)
	must(g.Close())
	fmt.Println("graph's:", blocks.Stats().OfGraphs, "free:", blocks.Stats().Free)
	// Output:
	// graph's: 512 free: 0
	// graph's: 0 free: 512
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
