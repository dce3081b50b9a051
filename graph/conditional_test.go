package graph_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// A user's kernel that sets a condition: it counts p[0] down and goes on while
// something is left.
const countdownPTX = `
.version 7.0
.target sm_52
.address_size 64

.extern .func cudaGraphSetConditional(.param .b64 cond, .param .b32 value);

.visible .entry countdown(.param .u64 p, .param .u64 cond)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	ld.param.u64 %rd2, [cond];
	cvta.to.global.u64 %rd1, %rd1;
	ld.global.u32 %r1, [%rd1];
	add.u32 %r2, %r1, -1;
	st.global.u32 [%rd1], %r2;
	{
		.param .b64 a;
		st.param.b64 [a], %rd2;
		.param .b32 b;
		st.param.b32 [b], %r2;
		call.uni cudaGraphSetConditional, (a, b);
	}
	ret;
}
`

var one = driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}

func (k *kit) countdown() *driver.Kernel {
	k.Helper()
	m, err := k.c.LoadModule([]byte(countdownPTX))
	k.ok(err)
	k.closeLater(m)
	f, err := m.Kernel("countdown")
	k.ok(err)
	return f
}

// words returns device memory.
func (k *kit) words(v ...uint32) *driver.Buffer[uint32] {
	k.Helper()
	b, err := driver.AllocFrom(k.c, v)
	k.ok(err)
	k.closeLater(b)
	return b
}

// want waits for the kit's stream and compares memory.
func (k *kit) want(what string, b *driver.Buffer[uint32], want ...uint32) {
	k.Helper()
	k.wait(k.s)
	got := make([]uint32, b.Len())
	k.ok(b.CopyTo(got))
	if fmt.Sprint(got) != fmt.Sprint(want) {
		k.Fatalf("%s: memory holds %v, want %v", what, got, want)
	}
}

func (k *kit) cond(g *graph.Graph, opts ...graph.CondOption) graph.Cond {
	k.Helper()
	c, err := g.NewCond(opts...)
	k.ok(err)
	return c
}

// op returns an operation or fails the test.
func op[T any](k *kit) func(o T, err error) T {
	return func(o T, err error) T {
		k.Helper()
		k.ok(err)
		return o
	}
}

func (k *kit) op(l *driver.Launch, err error) *driver.Launch {
	k.Helper()
	k.ok(err)
	return l
}

func (k *kit) addIf(g *graph.Graph, c graph.Cond, deps ...graph.Node) (graph.Node, *graph.Graph) {
	k.Helper()
	n, body, err := g.AddIf(c, deps...)
	k.ok(err)
	return n, body
}

func (k *kit) addWhile(g *graph.Graph, c graph.Cond, deps ...graph.Node) (graph.Node, *graph.Graph) {
	k.Helper()
	n, body, err := g.AddWhile(c, deps...)
	k.ok(err)
	return n, body
}

func TestIfRunsItsBodyWhenTheConditionIsNotZero(t *testing.T) {
	each(t, func(k *kit) {
		in, b := k.words(0), k.memory()
		g := k.graph()
		c := k.cond(g)
		set := k.add(g, k.op(c.SetTo(in)))
		n, body := k.addIf(g, c, set)
		k.add(body, k.launch(k.plus, b, 1))
		x := k.exec(g)
		for i, v := range []uint32{0, 1, 0, 7} {
			k.ok(in.Fill(v))
			k.run(x)
			k.expect(b, []uint32{1, 2, 2, 3}[i])
		}
		if kind, err := n.Type(); err != nil || kind != cu.CU_GRAPH_NODE_TYPE_CONDITIONAL {
			k.Errorf("type %v, %v", kind, err)
		}
	})
}

func TestIfElseRunsOneOfItsBodies(t *testing.T) {
	each(t, func(k *kit) {
		in, yes, no := k.words(0), k.memory(), k.memory()
		g := k.graph()
		c := k.cond(g)
		set := k.add(g, k.op(c.SetWhen(graph.When(in, graph.Greater, 10))))
		_, then, otherwise, err := g.AddIfElse(c, set)
		k.ok(err)
		k.add(then, k.launch(k.plus, yes, 1))
		k.add(otherwise, k.launch(k.plus, no, 1))
		x := k.exec(g)
		for _, v := range []uint32{0, 11, 10, 4000000000, 10} {
			k.ok(in.Fill(v))
			k.run(x)
		}
		k.expect(yes, 3)
		k.expect(no, 4)
	})
}

func TestSwitchRunsTheBodyOfThatNumber(t *testing.T) {
	each(t, func(k *kit) {
		in, b := k.words(0), k.memory()
		g := k.graph()
		c := k.cond(g)
		set := k.add(g, k.op(c.SetTo(in)))
		_, bodies, err := g.AddSwitch(c, 3, set)
		k.ok(err)
		for i, body := range bodies {
			k.add(body, k.launch(k.times, b, []uint32{2, 3, 5}[i]))
		}
		x := k.exec(g)
		for i, v := range []uint32{2, 0, 3, 1, 100, 1} {
			k.ok(in.Fill(v))
			k.run(x)
			k.expect(b, []uint32{5, 10, 10, 30, 30, 90}[i])
		}
	})
}

func TestWhileRunsItsBodyUntilAKernelOfTheUserEndsIt(t *testing.T) {
	each(t, func(k *kit) {
		left, b, f := k.words(50), k.memory(), k.countdown()
		g := k.graph()
		c := k.cond(g, graph.WithDefault(1))
		_, body := k.addWhile(g, c)
		n := k.add(body, k.launch(k.plus, b, 1))
		k.add(body, k.op(f.Prepare(one, left, c)), n)
		x := k.exec(g)
		k.run(x)
		k.want("rounds left", left, 0)
		k.expect(b, 51)
		k.ok(left.Fill(7))
		k.run(x)
		k.expect(b, 58)
	})
}

func TestWhileOf100000Rounds(t *testing.T) {
	each(t, func(k *kit) {
		const n = 100_000
		left, sum, f := k.words(n), k.words(0), k.countdown()
		g := k.graph()
		c := k.cond(g, graph.WithDefault(1))
		_, body := k.addWhile(g, c)
		add := k.add(body, k.op(k.plus.Prepare(one, sum, uint32(1), uint32(3))))
		k.add(body, k.op(f.Prepare(one, left, c)), add)
		k.run(k.exec(g))
		k.want("rounds left", left, 0)
		k.want("what the rounds added", sum, 3*n)
	})
}

// Two loops, one in the other, with a condition each: 6 times 9 rounds.
func TestNestedWhile(t *testing.T) {
	each(t, func(k *kit) {
		outerLeft, innerLeft, sum, f := k.words(6), k.words(0), k.words(0), k.countdown()
		g := k.graph()
		outer, inner := k.cond(g, graph.WithDefault(1)), k.cond(g)
		_, body := k.addWhile(g, outer)
		fill := k.add(body, op[*driver.FillOp](k)(driver.Fill[uint32](innerLeft, 9)))
		set := k.add(body, k.op(inner.Set(1)), fill)
		loop, innerBody := k.addWhile(body, inner, set)
		add := k.add(innerBody, k.op(k.plus.Prepare(one, sum, uint32(1), uint32(1))))
		k.add(innerBody, k.op(f.Prepare(one, innerLeft, inner)), add)
		k.add(body, k.op(f.Prepare(one, outerLeft, outer)), loop)
		x := k.exec(g)
		k.run(x)
		k.want("rounds", sum, 54)
		if innerBody.Context() != k.c || inner.Graph() != g {
			k.Errorf("the inner body is of %v, its condition of %v", innerBody.Context(), inner.Graph())
		}
		k.ok(outerLeft.Fill(2))
		k.run(x)
		k.want("rounds of a second launch", sum, 72)
	})
}

func TestSwitchInsideAWhile(t *testing.T) {
	each(t, func(k *kit) {
		// A program of steps: the body of a step is found by its number.
		step, b := k.words(3), k.memory()
		g := k.graph()
		more, which := k.cond(g, graph.WithDefault(1)), k.cond(g)
		_, body := k.addWhile(g, more)
		n := k.add(body, k.op(which.SetTo(step)))
		sw, cases, err := body.AddSwitch(which, 4, n)
		k.ok(err)
		for i, c := range cases {
			k.add(c, k.launch([]*driver.Kernel{k.plus, k.times}[i%2], b, uint32(i+2)))
		}
		dec := k.add(body, k.op(k.plus.Prepare(one, step, uint32(1), ^uint32(0))), sw)
		k.add(body, k.op(more.SetWhen(graph.When(op[driver.View[int32]](k)(driver.ViewAs[int32](step)), graph.GreaterOrEqual, 0))), dec)
		k.run(k.exec(g))
		// 3: times 5, 2: plus 4, 1: times 3, 0: plus 2
		k.expect(b, (1*5+4)*3+2)
	})
}

func TestConditionKeepsItsValueUnlessItHasADefault(t *testing.T) {
	each(t, func(k *kit) {
		kept, fresh, a, b := k.words(1), k.words(1), k.memory(), k.memory()
		g := k.graph()
		keeps, assigned := k.cond(g), k.cond(g, graph.WithDefault(1))
		// What is set, is set after it was looked at.
		first := k.add(g, k.op(keeps.SetTo(kept)))
		n, body := k.addIf(g, keeps, first)
		k.add(body, k.launch(k.plus, a, 1))
		m, other := k.addIf(g, assigned, n)
		k.add(other, k.launch(k.plus, b, 1))
		k.add(g, k.op(assigned.SetTo(fresh)), m)
		x := k.exec(g)
		k.ok(fresh.Fill(0))
		k.run(x)
		k.run(x)
		k.expect(a, 3)
		k.expect(b, 3)
		k.ok(x.Enable(first, false))
		k.ok(kept.Fill(0))
		k.run(x)
		k.expect(a, 4)
		k.ok(x.Enable(first, true))
		k.run(x)
		k.ok(x.Enable(first, false))
		k.ok(kept.Fill(1))
		k.run(x)
		k.expect(a, 4)
	})
}

func TestEmptyBodiesDoNothing(t *testing.T) {
	each(t, func(k *kit) { emptyBodies(k, true) })
	for _, version := range []int{12030, 12040, 12060, 12080} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			gputest.OnEmulator(t, emulator.Config{DriverVersion: version}, func(t *testing.T, c *driver.Context) {
				emptyBodies(newKit(t, c), version >= 12080)
			})
		})
	}
}

func emptyBodies(k *kit, switches bool) {
	k.Helper()
	b := k.memory()
	g := k.graph()
	c := k.cond(g, graph.WithDefault(1))
	n, _ := k.addIf(g, c)
	if switches {
		c := k.cond(g, graph.WithDefault(1))
		_, _, err := g.AddSwitch(c, 2, n)
		k.ok(err)
	}
	outer := k.cond(g, graph.WithDefault(1))
	loop, body := k.addWhile(g, outer, n)
	inner := k.cond(g, graph.WithDefault(1))
	in, _ := k.addIf(body, inner)
	k.add(body, k.op(outer.Set(0)), in)
	k.add(g, k.launch(k.plus, b, 1), loop)
	x := k.exec(g)
	k.run(x)
	k.expect(b, 2)
	r, err := x.Update(g)
	k.ok(err)
	if !r.Updated() {
		k.Errorf("update from the graph with empty bodies: %v", r)
	}
	k.run(x)
	k.expect(b, 3)
}

func TestBodiesAreGraphsOfTheNode(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		c := k.cond(g, graph.WithDefault(1))
		n, bodies, err := g.AddSwitch(c, 3)
		k.ok(err)
		again, err := n.Bodies()
		k.ok(err)
		if fmt.Sprint(bodies) != fmt.Sprint(again) || len(bodies) != 3 {
			k.Errorf("bodies %v, then %v", bodies, again)
		}
		added := k.add(bodies[1], k.launch(k.plus, b, 1))
		k.ok(added.Set(k.launch(k.plus, b, 5)))
		if count, err := bodies[1].Len(); err != nil || count != 1 {
			k.Errorf("%d nodes, %v", count, err)
		}
		k.run(k.exec(g))
		k.expect(b, 6)
		plain := k.add(g, k.launch(k.plus, b, 1))
		if _, err := plain.Bodies(); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("bodies of a kernel: %v", err)
		}
		if _, err := k.graphOf(bodies[0]); !errors.Is(err, driver.CUDA_ERROR_NOT_SUPPORTED) {
			k.Errorf("instantiating a body: %v", err)
		}
	})
}

// graphOf tries to instantiate.
func (k *kit) graphOf(g *graph.Graph) (*graph.Exec, error) {
	x, err := g.Instantiate()
	if err == nil {
		k.closeLater(x)
	}
	return x, err
}

func TestBodiesKeepAliveWhatTheyUse(t *testing.T) {
	each(t, func(k *kit) {
		b, gone := k.memory(), k.memoryOf(4)
		g := k.graph()
		c := k.cond(g, graph.WithDefault(1))
		_, body := k.addIf(g, c)
		k.add(body, op[*driver.CopyOp](k)(driver.CopyDevice[uint32](b, gone)))
		x := k.exec(g)
		k.ok(gone.Close())
		k.ok(g.Close())
		k.run(x)
		k.expect(b, 4)
	})
}

func TestExecWithConditionsIsUpdated(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		build := func(to *driver.Buffer[uint32], initial, v uint32) *graph.Graph {
			g := k.graph()
			c := k.cond(g, graph.WithDefault(initial))
			_, then, otherwise, err := g.AddIfElse(c)
			k.ok(err)
			k.add(then, k.launch(k.plus, to, v))
			k.add(otherwise, k.launch(k.times, to, v))
			return g
		}
		x := k.exec(build(a, 1, 2))
		k.run(x)
		k.expect(a, 3)
		// Other memory and another constant in a body.
		r, err := x.Update(build(b, 1, 10))
		k.ok(err)
		if !r.Updated() {
			k.Fatal(r)
		}
		k.run(x)
		k.expect(b, 11)
		// Another default.
		r, err = x.Update(build(b, 0, 3))
		k.ok(err)
		if !r.Updated() {
			k.Fatal(r)
		}
		k.run(x)
		k.expect(b, 33)
		// Another node in a body, and another form, are other graphs.
		g := build(b, 0, 3)
		for n, err := range g.Nodes() {
			k.ok(err)
			bodies, err := n.Bodies()
			k.ok(err)
			k.add(bodies[1], k.launch(k.plus, b, 1))
		}
		r, err = x.Update(g)
		k.ok(err)
		if r.Updated() || r.Result != cu.CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED {
			k.Errorf("update to another body: %v", r)
		}
		other := k.graph()
		_, body := k.addWhile(other, k.cond(other))
		k.add(body, k.launch(k.plus, b, 2))
		r, err = x.Update(other)
		k.ok(err)
		if r.Updated() {
			k.Errorf("an IF-ELSE was updated to a WHILE")
		}
		k.run(x)
		k.expect(b, 99)
	})
}
