package graph_test

import (
	"context"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// The kernels of the tests: p[i] = p[i] + v and p[i] = p[i] * v, whose order
// matters, and d[i] = a[i] + b[i].
const kernels = `
.version 7.0
.target sm_52
.address_size 64

.visible .entry plus(.param .u64 p, .param .u32 n, .param .u32 v)
{
	.reg .pred %q;
	.reg .b32 %r<6>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	ld.param.u32 %r2, [v];
	mov.u32 %r3, %tid.x;
	setp.ge.u32 %q, %r3, %r1;
	@%q bra DONE;
	cvta.to.global.u64 %rd1, %rd1;
	mul.wide.u32 %rd2, %r3, 4;
	add.u64 %rd3, %rd1, %rd2;
	ld.global.u32 %r4, [%rd3];
	add.u32 %r5, %r4, %r2;
	st.global.u32 [%rd3], %r5;
DONE:
	ret;
}

.visible .entry times(.param .u64 p, .param .u32 n, .param .u32 v)
{
	.reg .pred %q;
	.reg .b32 %r<6>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	ld.param.u32 %r2, [v];
	mov.u32 %r3, %tid.x;
	setp.ge.u32 %q, %r3, %r1;
	@%q bra DONE;
	cvta.to.global.u64 %rd1, %rd1;
	mul.wide.u32 %rd2, %r3, 4;
	add.u64 %rd3, %rd1, %rd2;
	ld.global.u32 %r4, [%rd3];
	mul.lo.u32 %r5, %r4, %r2;
	st.global.u32 [%rd3], %r5;
DONE:
	ret;
}

.visible .entry sum(.param .u64 d, .param .u64 a, .param .u64 b, .param .u32 n)
{
	.reg .pred %q;
	.reg .b32 %r<6>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [d];
	ld.param.u64 %rd2, [a];
	ld.param.u64 %rd3, [b];
	ld.param.u32 %r1, [n];
	mov.u32 %r3, %tid.x;
	setp.ge.u32 %q, %r3, %r1;
	@%q bra DONE;
	cvta.to.global.u64 %rd1, %rd1;
	cvta.to.global.u64 %rd2, %rd2;
	cvta.to.global.u64 %rd3, %rd3;
	mul.wide.u32 %rd4, %r3, 4;
	add.u64 %rd1, %rd1, %rd4;
	add.u64 %rd2, %rd2, %rd4;
	add.u64 %rd3, %rd3, %rd4;
	ld.global.u32 %r4, [%rd2];
	ld.global.u32 %r5, [%rd3];
	add.u32 %r4, %r4, %r5;
	st.global.u32 [%rd1], %r4;
DONE:
	ret;
}
`

const elems = 32

var config = driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(elems)}

// kit is what most tests need: a stream, the kernels and memory of ones.
type kit struct {
	testing.TB
	c                *driver.Context
	s                *driver.Stream
	m                *driver.Module
	plus, times, sum *driver.Kernel
}

func newKit(t testing.TB, c *driver.Context) *kit {
	t.Helper()
	k := &kit{TB: t, c: c}
	var err error
	k.s, err = c.NewStream()
	k.ok(err)
	k.closeLater(k.s)
	k.m, err = c.LoadModule([]byte(kernels))
	k.ok(err)
	k.closeLater(k.m)
	for name, to := range map[string]**driver.Kernel{"plus": &k.plus, "times": &k.times, "sum": &k.sum} {
		*to, err = k.m.Kernel(name)
		k.ok(err)
	}
	return k
}

// each runs a test with a kit on every driver.
func each(t *testing.T, test func(k *kit)) {
	t.Helper()
	gputest.Each(t, func(t *testing.T, c *driver.Context) { test(newKit(t, c)) })
}

func (k *kit) ok(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

type closer interface{ Close() error }

func (k *kit) closeLater(c closer) {
	k.Cleanup(func() {
		if err := c.Close(); err != nil {
			k.Errorf("close: %v", err)
		}
	})
}

func (k *kit) stream() *driver.Stream {
	k.Helper()
	s, err := k.c.NewStream()
	k.ok(err)
	k.closeLater(s)
	return s
}

// memory returns device memory that holds ones.
func (k *kit) memory() *driver.Buffer[uint32] {
	k.Helper()
	b := k.memoryOf(1)
	k.closeLater(b)
	return b
}

func (k *kit) memoryOf(v uint32) *driver.Buffer[uint32] {
	k.Helper()
	b, err := driver.Alloc[uint32](k.c, elems)
	k.ok(err)
	k.ok(b.Fill(v))
	return b
}

func (k *kit) launch(f *driver.Kernel, b driver.Memory, v uint32) *driver.Launch {
	k.Helper()
	l, err := f.Prepare(config, b, uint32(elems), v)
	k.ok(err)
	return l
}

func (k *kit) wait(s *driver.Stream) {
	k.Helper()
	k.ok(s.Wait(context.Background()))
}

// eventually waits for something that another thread or goroutine does.
func (k *kit) eventually(what string, done func() bool) {
	k.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			k.Fatalf("%s: not in 20 s", what)
		}
	}
}

// expect waits for the kit's stream and compares memory with one value.
func (k *kit) expect(b *driver.Buffer[uint32], want uint32) {
	k.Helper()
	k.wait(k.s)
	got := make([]uint32, b.Len())
	k.ok(b.CopyTo(got))
	for i, v := range got {
		if v != want {
			k.Fatalf("element %d is %d, want %d", i, v, want)
		}
	}
}

// graph returns an empty graph.
func (k *kit) graph() *graph.Graph {
	k.Helper()
	g, err := graph.New(k.c)
	k.ok(err)
	k.closeLater(g)
	return g
}

func (k *kit) add(g *graph.Graph, op driver.Op, deps ...graph.Node) graph.Node {
	k.Helper()
	n, err := g.Add(op, deps...)
	k.ok(err)
	return n
}

func (k *kit) capture(record func(sc *graph.Scope) error) *graph.Graph {
	k.Helper()
	g, err := graph.Capture(k.s, graph.ModeThreadLocal, record)
	k.ok(err)
	k.closeLater(g)
	return g
}

func (k *kit) exec(g *graph.Graph, opts ...graph.Option) *graph.Exec {
	k.Helper()
	x, err := g.Instantiate(opts...)
	k.ok(err)
	k.closeLater(x)
	return x
}

// run launches an exec on the kit's stream and waits.
func (k *kit) run(x *graph.Exec) {
	k.Helper()
	k.ok(x.Run(context.Background(), k.s))
}

// usable shows that a stream takes work, which one that captures does not run.
func (k *kit) usable(s *driver.Stream) {
	k.Helper()
	status, _, err := s.CaptureStatus()
	k.ok(err)
	if status != driver.CU_STREAM_CAPTURE_STATUS_NONE {
		k.Fatalf("%v is left with capture status %v", s, status)
	}
	b := k.memory()
	k.ok(s.Do(k.launch(k.plus, b, 41)))
	k.wait(s)
	got := make([]uint32, elems)
	k.ok(b.CopyTo(got))
	if got[0] != 42 {
		k.Fatalf("%v took work and did not run it: %d", s, got[0])
	}
}

// none shows that f allocates nothing. It is run some hundred times.
func (k *kit) none(what string, f func()) {
	k.Helper()
	if allocs := testing.AllocsPerRun(200, f); allocs > allocsAllowed && !raceDetector {
		k.Errorf("%s: %v allocations", what, allocs)
	}
}
