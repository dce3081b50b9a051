package arena_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

// Three graphs use the same memory. The library makes each launch wait for the previous one, even
// on another stream.
func ExampleArena() {
	c, s, plus, _, out := graphtest.Open()
	a, err := arena.New(c)
	must(err)
	defer a.Close()
	var execs []*graph.Exec
	for i := range 3 {
		p, err := a.Plan(fmt.Sprintf("step %d", i))
		must(err)
		g, err := graph.Capture(s, graph.ModeGlobal, func(sc *graph.Scope) error {
			tmp, err := arena.Alloc[uint32](p, out.Len()) // the same address for each graph
			if err != nil {
				return err
			}
			in, err := driver.CopyDevice(tmp, out)
			must(err)
			l, err := plus.Prepare(graphtest.Config, tmp, uint32(tmp.Len()), uint32(10))
			must(err)
			back, err := driver.CopyDevice(out, tmp)
			must(err)
			return sc.Do(in, l, back)
		})
		must(err)
		must(p.Seal()) // closes tmp, so the next plan may use its memory
		x, err := g.Instantiate()
		must(err)
		execs = append(execs, x)
	}
	for _, x := range execs {
		must(x.Run(context.Background(), s))
	}
	got := make([]uint32, out.Len())
	must(out.CopyTo(got))
	fmt.Println(got[0])
	for _, p := range a.Report().Plans {
		fmt.Println(p.Name, p.Bytes, "bytes")
	}
	// Output:
	// 31
	// step 0 128 bytes
	// step 1 128 bytes
	// step 2 128 bytes
}

// A graph that was recorded earlier overwrites a result. Check reports both plans.
func ExampleArena_Check() {
	c, s, _, _, _ := graphtest.Open()
	a, err := arena.New(c)
	must(err)
	defer a.Close()
	fill := func(name string, v uint32) (*driver.Buffer[uint32], *graph.Exec, *arena.Plan) {
		p, err := a.Plan(name)
		must(err)
		b, err := arena.Alloc[uint32](p, 100)
		must(err)
		op, err := driver.Fill(b, v)
		must(err)
		g, err := graph.New(c)
		must(err)
		_, err = g.Add(op)
		must(err)
		x, err := g.Instantiate()
		must(err)
		return b, x, p
	}
	_, first, p := fill("first", 1)
	must(p.Seal())
	result, second, _ := fill("second", 2)
	must(second.Run(context.Background(), s))
	fmt.Println("after its own launch:", a.Check(result))
	must(first.Run(context.Background(), s))
	var lost *arena.OverwrittenError
	if errors.As(a.Check(result), &lost) {
		fmt.Printf("result of %q overwritten by %q\n", lost.Plan, lost.By)
	}
	// Output:
	// after its own launch: <nil>
	// result of "second" overwritten by "first"
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A plan begins at the lowest address that no open buffer of another plan uses.
func ExamplePlan() {
	c, _, _, _, _ := graphtest.Open()
	a, err := arena.New(c)
	must(err)
	defer a.Close()
	first, err := a.Plan("first")
	must(err)
	kept, err := arena.Alloc[float32](first, 1000)
	must(err)
	tmp, err := arena.Alloc[float32](first, 1000)
	must(err)
	must(first.Seal(kept)) // closes tmp
	second, err := a.Plan("second")
	must(err)
	b, err := arena.Alloc[float32](second, 500)
	must(err)
	fmt.Println("at the address of the temporary:", b.Ptr() == tmp.Ptr())
	must(b.Close())
	must(kept.Close())

	// Output:
	// at the address of the temporary: true
}

// A Report shows which plan still uses memory of the arena.
func ExampleReport() {
	c, _, _, _, _ := graphtest.Open()
	a, err := arena.New(c)
	must(err)
	defer a.Close()
	p, err := a.Plan("decode")
	must(err)
	b, err := arena.Alloc[float32](p, 1000)
	must(err)
	for _, plan := range a.Report().Plans {
		for _, open := range plan.Open {
			fmt.Printf("%s: %s, %d bytes\n", plan.Name, open.Kind, open.Bytes)
		}
	}
	must(b.Close())

	// Output:
	// decode: buffer of float32, 4000 bytes
}
