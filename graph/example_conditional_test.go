package graph_test

import (
	"context"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// A loop on the device: the body runs while a word is below a limit, for at most 100 iterations.
func ExampleGraph_AddWhile() {
	c, s, plus, times, b := open()
	counter, err := driver.Alloc[uint32](c, 1)
	must(err)
	add, err := plus.Prepare(config, b, uint32(elems), uint32(1))
	must(err)
	double, err := times.Prepare(config, b, uint32(elems), uint32(2))
	must(err)

	g, err := graph.New(c)
	must(err)
	more, err := g.NewCond()
	must(err)
	loop, err := more.Within(counter, 100)
	must(err)
	begin, err := loop.Start(graph.When(b, graph.Less, 1000))
	must(err)
	again, err := loop.Next(graph.When(b, graph.Less, 1000))
	must(err)

	start, err := g.Add(begin)
	must(err)
	_, body, err := g.AddWhile(more, start)
	must(err)
	_, err = body.AddBatch(nil, graph.Chain([]driver.Op{double, add, again}))
	must(err)

	x, err := g.Instantiate()
	must(err)
	must(x.Run(context.Background(), s))
	rounds := make([]uint32, 1)
	must(counter.CopyTo(rounds))
	fmt.Println(first(b), "after", rounds[0], "rounds")
	// Output: 1023 after 9 rounds
}

// A branch in a capture: at each replay, the condition selects the recorded body that runs.
func ExampleScope_IfElse() {
	c, s, plus, times, b := open()
	word, err := driver.AllocFrom(c, []uint32{3})
	must(err)
	add, err := plus.Prepare(config, b, uint32(elems), uint32(5))
	must(err)
	double, err := times.Prepare(config, b, uint32(elems), uint32(2))
	must(err)

	g, err := graph.Capture(s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		big, err := sc.NewCond()
		if err != nil {
			return err
		}
		look, err := big.SetWhen(graph.When(word, graph.Greater, 10))
		if err != nil {
			return err
		}
		if err := sc.Do(look); err != nil {
			return err
		}
		return sc.IfElse(big,
			func(then *graph.Scope) error { return then.Do(double) },
			func(otherwise *graph.Scope) error { return otherwise.Do(add) })
	})
	must(err)
	x, err := g.Instantiate()
	must(err)
	for _, v := range []uint32{3, 11} {
		must(word.Fill(v))
		must(x.Run(context.Background(), s))
		fmt.Println(v, "gives", first(b))
	}
	// Output:
	// 3 gives 6
	// 11 gives 12
}
