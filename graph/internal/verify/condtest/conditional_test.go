package condtest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

// A user's kernel that sets a condition. It decrements p[0] and continues the loop until p[0] is 0.
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
	m, err := k.C.LoadModule([]byte(countdownPTX))
	k.OK(err)
	k.CloseLater(m)
	f, err := m.Kernel("countdown")
	k.OK(err)
	return f
}

func (k *kit) want(what string, b *driver.Buffer[uint32], want ...uint32) {
	k.Helper()
	k.Wait(k.S)
	got := make([]uint32, b.Len())
	k.OK(b.CopyTo(got))
	if fmt.Sprint(got) != fmt.Sprint(want) {
		k.Fatalf("%s: memory holds %v, want %v", what, got, want)
	}
}

func TestIfRunsItsBodyWhenTheConditionIsNotZero(t *testing.T) {
	each(t, func(k *kit) {
		in, b := k.Words(0), k.Memory()
		g := k.Graph()
		c := k.Cond(g)
		set := k.Add(g, k.Op(c.SetTo(in)))
		n, body := k.AddIf(g, c, set)
		k.Add(body, k.Launch(k.Plus, b, 1))
		x := k.Exec(g)
		for i, v := range []uint32{0, 1, 0, 7} {
			k.OK(in.Fill(v))
			k.Run(x)
			k.Expect(b, []uint32{1, 2, 2, 3}[i])
		}
		if kind, err := n.Type(); err != nil || kind != cu.CU_GRAPH_NODE_TYPE_CONDITIONAL {
			k.Errorf("type %v, %v", kind, err)
		}
	})
}

func TestIfElseRunsOneOfItsBodies(t *testing.T) {
	each(t, func(k *kit) {
		in, yes, no := k.Words(0), k.Memory(), k.Memory()
		g := k.Graph()
		c := k.Cond(g)
		set := k.Add(g, k.Op(c.SetWhen(graph.When(in, graph.Greater, 10))))
		_, then, otherwise, err := g.AddIfElse(c, set)
		k.OK(err)
		k.Add(then, k.Launch(k.Plus, yes, 1))
		k.Add(otherwise, k.Launch(k.Plus, no, 1))
		x := k.Exec(g)
		for _, v := range []uint32{0, 11, 10, 4000000000, 10} {
			k.OK(in.Fill(v))
			k.Run(x)
		}
		k.Expect(yes, 3)
		k.Expect(no, 4)
	})
}

func TestSwitchRunsTheBodyOfThatNumber(t *testing.T) {
	each(t, func(k *kit) {
		in, b := k.Words(0), k.Memory()
		g := k.Graph()
		c := k.Cond(g)
		set := k.Add(g, k.Op(c.SetTo(in)))
		_, bodies, err := g.AddSwitch(c, 3, set)
		k.OK(err)
		for i, body := range bodies {
			k.Add(body, k.Launch(k.Times, b, []uint32{2, 3, 5}[i]))
		}
		x := k.Exec(g)
		for i, v := range []uint32{2, 0, 3, 1, 100, 1} {
			k.OK(in.Fill(v))
			k.Run(x)
			k.Expect(b, []uint32{5, 10, 10, 30, 30, 90}[i])
		}
	})
}

func TestWhileRunsItsBodyUntilAKernelOfTheUserEndsIt(t *testing.T) {
	each(t, func(k *kit) {
		left, b, f := k.Words(50), k.Memory(), k.countdown()
		g := k.Graph()
		c := k.Cond(g, graph.WithDefault(1))
		_, body := k.AddWhile(g, c)
		n := k.Add(body, k.Launch(k.Plus, b, 1))
		k.Add(body, k.Op(f.Prepare(one, left, c)), n)
		x := k.Exec(g)
		k.Run(x)
		k.want("rounds left", left, 0)
		k.Expect(b, 51)
		k.OK(left.Fill(7))
		k.Run(x)
		k.Expect(b, 58)
	})
}

func TestWhileOf100000Rounds(t *testing.T) {
	each(t, func(k *kit) {
		const n = 100_000
		left, sum, f := k.Words(n), k.Words(0), k.countdown()
		g := k.Graph()
		c := k.Cond(g, graph.WithDefault(1))
		_, body := k.AddWhile(g, c)
		add := k.Add(body, k.Op(k.Plus.Prepare(one, sum, uint32(1), uint32(3))))
		k.Add(body, k.Op(f.Prepare(one, left, c)), add)
		k.Run(k.Exec(g))
		k.want("rounds left", left, 0)
		k.want("what the rounds added", sum, 3*n)
	})
}

// Nested loops with their own conditions must run 6 times 9 iterations.
func TestNestedWhile(t *testing.T) {
	each(t, func(k *kit) {
		outerLeft, innerLeft, sum, f := k.Words(6), k.Words(0), k.Words(0), k.countdown()
		g := k.Graph()
		outer, inner := k.Cond(g, graph.WithDefault(1)), k.Cond(g)
		_, body := k.AddWhile(g, outer)
		fill := k.Add(body, graphtest.Op[*driver.FillOp](k.Kit)(driver.Fill[uint32](innerLeft, 9)))
		set := k.Add(body, k.Op(inner.Set(1)), fill)
		loop, innerBody := k.AddWhile(body, inner, set)
		add := k.Add(innerBody, k.Op(k.Plus.Prepare(one, sum, uint32(1), uint32(1))))
		k.Add(innerBody, k.Op(f.Prepare(one, innerLeft, inner)), add)
		k.Add(body, k.Op(f.Prepare(one, outerLeft, outer)), loop)
		x := k.Exec(g)
		k.Run(x)
		k.want("rounds", sum, 54)
		if innerBody.Context() != k.C || inner.Graph() != g {
			k.Errorf("the inner body is of %v, its condition of %v", innerBody.Context(), inner.Graph())
		}
		k.OK(outerLeft.Fill(2))
		k.Run(x)
		k.want("rounds of a second launch", sum, 72)
	})
}

func TestSwitchInsideAWhile(t *testing.T) {
	each(t, func(k *kit) {
		// The graph is a loop over steps. The value of step selects the body of the SWITCH node.
		step, b := k.Words(3), k.Memory()
		g := k.Graph()
		more, which := k.Cond(g, graph.WithDefault(1)), k.Cond(g)
		_, body := k.AddWhile(g, more)
		n := k.Add(body, k.Op(which.SetTo(step)))
		sw, cases, err := body.AddSwitch(which, 4, n)
		k.OK(err)
		for i, c := range cases {
			k.Add(c, k.Launch([]*driver.Kernel{k.Plus, k.Times}[i%2], b, uint32(i+2)))
		}
		dec := k.Add(body, k.Op(k.Plus.Prepare(one, step, uint32(1), ^uint32(0))), sw)
		k.Add(body, k.Op(more.SetWhen(graph.When(graphtest.Op[driver.View[int32]](k.Kit)(driver.ViewAs[int32](step)), graph.GreaterOrEqual, 0))), dec)
		k.Run(k.Exec(g))
		// step 3: times 5, step 2: plus 4, step 1: times 3, step 0: plus 2
		k.Expect(b, (1*5+4)*3+2)
	})
}

func TestConditionKeepsItsValueUnlessItHasADefault(t *testing.T) {
	each(t, func(k *kit) {
		kept, fresh, a, b := k.Words(1), k.Words(1), k.Memory(), k.Memory()
		g := k.Graph()
		keeps, assigned := k.Cond(g), k.Cond(g, graph.WithDefault(1))
		// The node has already read the condition when it is set here.
		first := k.Add(g, k.Op(keeps.SetTo(kept)))
		n, body := k.AddIf(g, keeps, first)
		k.Add(body, k.Launch(k.Plus, a, 1))
		m, other := k.AddIf(g, assigned, n)
		k.Add(other, k.Launch(k.Plus, b, 1))
		k.Add(g, k.Op(assigned.SetTo(fresh)), m)
		x := k.Exec(g)
		k.OK(fresh.Fill(0))
		k.Run(x)
		k.Run(x)
		k.Expect(a, 3)
		k.Expect(b, 3)
		k.OK(x.Enable(first, false))
		k.OK(kept.Fill(0))
		k.Run(x)
		k.Expect(a, 4)
		k.OK(x.Enable(first, true))
		k.Run(x)
		k.OK(x.Enable(first, false))
		k.OK(kept.Fill(1))
		k.Run(x)
		k.Expect(a, 4)
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
	b := k.Memory()
	g := k.Graph()
	c := k.Cond(g, graph.WithDefault(1))
	n, _ := k.AddIf(g, c)
	if switches {
		c := k.Cond(g, graph.WithDefault(1))
		_, _, err := g.AddSwitch(c, 2, n)
		k.OK(err)
	}
	outer := k.Cond(g, graph.WithDefault(1))
	loop, body := k.AddWhile(g, outer, n)
	inner := k.Cond(g, graph.WithDefault(1))
	in, _ := k.AddIf(body, inner)
	k.Add(body, k.Op(outer.Set(0)), in)
	k.Add(g, k.Launch(k.Plus, b, 1), loop)
	x := k.Exec(g)
	k.Run(x)
	k.Expect(b, 2)
	r, err := x.Update(g)
	k.OK(err)
	if !r.Updated() {
		k.Errorf("update from the graph with empty bodies: %v", r)
	}
	k.Run(x)
	k.Expect(b, 3)
}

func TestBodiesAreGraphsOfTheNode(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		c := k.Cond(g, graph.WithDefault(1))
		n, bodies, err := g.AddSwitch(c, 3)
		k.OK(err)
		again, err := n.Bodies()
		k.OK(err)
		if fmt.Sprint(bodies) != fmt.Sprint(again) || len(bodies) != 3 {
			k.Errorf("bodies %v, then %v", bodies, again)
		}
		added := k.Add(bodies[1], k.Launch(k.Plus, b, 1))
		k.OK(added.Set(k.Launch(k.Plus, b, 5)))
		if count, err := bodies[1].Len(); err != nil || count != 1 {
			k.Errorf("%d nodes, %v", count, err)
		}
		k.Run(k.Exec(g))
		k.Expect(b, 6)
		plain := k.Add(g, k.Launch(k.Plus, b, 1))
		if _, err := plain.Bodies(); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("bodies of a kernel: %v", err)
		}
		if _, err := k.graphOf(bodies[0]); !errors.Is(err, driver.CUDA_ERROR_NOT_SUPPORTED) {
			k.Errorf("instantiating a body: %v", err)
		}
	})
}

func (k *kit) graphOf(g *graph.Graph) (*graph.Exec, error) {
	x, err := g.Instantiate()
	if err == nil {
		k.CloseLater(x)
	}
	return x, err
}

func TestBodiesKeepAliveWhatTheyUse(t *testing.T) {
	each(t, func(k *kit) {
		b, gone := k.Memory(), k.MemoryOf(4)
		g := k.Graph()
		c := k.Cond(g, graph.WithDefault(1))
		_, body := k.AddIf(g, c)
		k.Add(body, graphtest.Op[*driver.CopyOp](k.Kit)(driver.CopyDevice[uint32](b, gone)))
		x := k.Exec(g)
		k.OK(gone.Close())
		k.OK(g.Close())
		k.Run(x)
		k.Expect(b, 4)
	})
}

func TestExecWithConditionsIsUpdated(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		build := func(to *driver.Buffer[uint32], initial, v uint32) *graph.Graph {
			g := k.Graph()
			c := k.Cond(g, graph.WithDefault(initial))
			_, then, otherwise, err := g.AddIfElse(c)
			k.OK(err)
			k.Add(then, k.Launch(k.Plus, to, v))
			k.Add(otherwise, k.Launch(k.Times, to, v))
			return g
		}
		x := k.Exec(build(a, 1, 2))
		k.Run(x)
		k.Expect(a, 3)
		// An update can change memory and constants in a body.
		r, err := x.Update(build(b, 1, 10))
		k.OK(err)
		if !r.Updated() {
			k.Fatal(r)
		}
		k.Run(x)
		k.Expect(b, 11)
		// An update can also change the default.
		r, err = x.Update(build(b, 0, 3))
		k.OK(err)
		if !r.Updated() {
			k.Fatal(r)
		}
		k.Run(x)
		k.Expect(b, 33)
		// An update cannot add a node to a body or change the kind of a conditional node.
		g := build(b, 0, 3)
		for n, err := range g.Nodes() {
			k.OK(err)
			bodies, err := n.Bodies()
			k.OK(err)
			k.Add(bodies[1], k.Launch(k.Plus, b, 1))
		}
		r, err = x.Update(g)
		k.OK(err)
		if r.Updated() || r.Result != cu.CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED {
			k.Errorf("update to another body: %v", r)
		}
		other := k.Graph()
		_, body := k.AddWhile(other, k.Cond(other))
		k.Add(body, k.Launch(k.Plus, b, 2))
		r, err = x.Update(other)
		k.OK(err)
		if r.Updated() {
			k.Errorf("an IF-ELSE was updated to a WHILE")
		}
		k.Run(x)
		k.Expect(b, 99)
	})
}
