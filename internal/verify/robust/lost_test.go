package robust

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
)

type loss struct {
	kernel  string
	address uint64
	code    driver.CUresult
}

func TestIllegalAddressLosesTheContext(t *testing.T) {
	eachDoomed(t, loss{"add", 64, driver.CUDA_ERROR_ILLEGAL_ADDRESS}.test)
}

func TestTrapLosesTheContext(t *testing.T) {
	eachDoomed(t, loss{"traps", 0, driver.CUDA_ERROR_LAUNCH_FAILED}.test)
}

func TestMisalignedAddressLosesTheContext(t *testing.T) {
	eachDoomed(t, loss{"add", 0, driver.CUDA_ERROR_MISALIGNED_ADDRESS}.test)
}

func (l loss) test(t *testing.T, d *driver.Driver) {
	p := newProgram(t, d)
	other, err := p.c.Device().PrimaryContext()
	ok(t, err)
	p.keep(other)
	bad, err := p.m.Kernel(l.kernel)
	ok(t, err)
	address := l.address
	if address == 0 {
		address = uint64(p.b.Ptr()) + 1
	}
	ok(t, bad.Launch(p.s, one, address, uint32(1)))
	p.lost("wait for the stream", p.s.Wait(t.Context()), l.code)
	for what, use := range p.uses() {
		p.lost(what, use(), l.code)
	}
	p.lost("Lost", p.c.Lost(), l.code)
	p.lost("Lost of another context", other.Lost(), l.code)
	p.closeAll(l.code)
	p.afterwards(l.code)
}

// program holds one object of each kind.
type program struct {
	t      *testing.T
	d      *driver.Driver
	c      *driver.Context
	s      *driver.Stream
	m      *driver.Module
	add    *driver.Kernel
	b      *driver.Buffer[uint32]
	h      *driver.HostBuffer[uint32]
	e      *driver.Event
	g      *graph.Graph
	x      *graph.Exec
	launch *driver.Launch
	open   []closer
}

func (p *program) keep(c closer) { p.open = append(p.open, c) }

func newProgram(t *testing.T, d *driver.Driver) *program {
	p := &program{t: t, d: d}
	dev, err := d.Device(0)
	ok(t, err)
	p.c, err = dev.PrimaryContext()
	ok(t, err)
	p.keep(p.c)
	p.s, err = p.c.NewStream()
	ok(t, err)
	p.keep(p.s)
	p.e, err = p.c.NewEvent()
	ok(t, err)
	p.keep(p.e)
	p.b, err = driver.AllocFrom(p.c, []uint32{0})
	ok(t, err)
	p.keep(p.b)
	p.h, err = driver.AllocHost[uint32](p.c, 1)
	ok(t, err)
	p.keep(p.h)
	p.makeGraph()
	works(t, p.c)
	return p
}

func (p *program) makeGraph() {
	var err error
	p.m, err = p.c.LoadModule(kernels)
	ok(p.t, err)
	p.keep(p.m)
	p.add, err = p.m.Kernel("add")
	ok(p.t, err)
	p.launch, err = p.add.Prepare(one, p.b, uint32(1))
	ok(p.t, err)
	p.g, err = graph.New(p.c)
	ok(p.t, err)
	p.keep(p.g)
	ok(p.t, second(p.g.Add(p.launch)))
	p.x, err = p.g.Instantiate()
	ok(p.t, err)
	p.keep(p.x)
	ok(p.t, p.x.Run(p.t.Context(), p.s))
}

// uses returns calls that must fail once the context is lost.
func (p *program) uses() map[string]func() error {
	ctx := context.Background()
	return map[string]func() error{
		"allocation":         func() error { return second(driver.Alloc[byte](p.c, 1)) },
		"ordered allocation": func() error { return second(driver.AllocAsync[byte](p.s, 1)) },
		"page-locked memory": func() error { return second(driver.AllocHost[byte](p.c, 1)) },
		"stream":             func() error { return second(p.c.NewStream()) },
		"event":              func() error { return second(p.c.NewEvent()) },
		"module":             func() error { return second(p.c.LoadModule(kernels)) },
		"launch":             func() error { return p.s.Do(p.launch) },
		"record":             func() error { return p.s.Record(p.e) },
		"query":              func() error { return second(p.s.Query()) },
		"wait":               func() error { return p.s.Wait(ctx) },
		"synchronize":        func() error { return p.c.Synchronize(ctx) },
		"copy":               func() error { return p.b.CopyFrom([]uint32{1}) },
		"fill":               func() error { return p.b.Fill(0) },
		"host function":      func() error { return p.s.HostFunc(func() {}) },
		"free memory":        func() error { _, _, err := p.c.MemInfo(); return err },
		"limit":              func() error { return second(p.c.Limit(cu.CU_LIMIT_STACK_SIZE)) },
		"replay":             func() error { return p.x.Launch(p.s) },
		"instantiation":      func() error { return second(p.g.Instantiate()) },
		"capture": func() error {
			return second(graph.Capture(p.s, graph.ModeThreadLocal, func(sc *graph.Scope) error { return sc.Do(p.launch) }))
		},
	}
}

// lost checks that an error has the code, reports that the context is lost, and describes what to
// do.
func (p *program) lost(what string, err error, code driver.CUresult) {
	p.t.Helper()
	if !errors.Is(err, code) || !errors.Is(err, driver.ErrContextLost) {
		p.t.Errorf("%s: %v, want %v and that the context is lost", what, err, code)
		return
	}
	if text := err.Error(); !strings.Contains(text, "context is lost") || !strings.Contains(text, "new process") {
		p.t.Errorf("%s does not say what to do: %v", what, err)
	}
}

// closeAll closes everything that the program opened. Closing must be quick, and each error must
// have the given code.
func (p *program) closeAll(code driver.CUresult) {
	start := time.Now()
	for _, c := range slices.Backward(p.open) {
		if err := c.Close(); err != nil && !errors.Is(err, code) {
			p.t.Errorf("close of %v: %v", c, err)
		} else if code != driver.CUDA_SUCCESS {
			p.t.Logf("close of %v: %d", c, codeOf(err))
		}
	}
	if took := time.Since(start); took > 10*time.Second {
		p.t.Errorf("closing took %v", took)
	}
}

// afterwards checks that a new context in the same process is unusable as well.
func (p *program) afterwards(code driver.CUresult) {
	dev, err := p.d.Device(0)
	ok(p.t, err)
	c, err := dev.PrimaryContext()
	if err != nil {
		p.lost("retain", err, code)
		return
	}
	p.lost("a new context", c.Lost(), code)
	if err := c.Close(); err != nil {
		p.lost("close of the new context", err, code)
	}
}
