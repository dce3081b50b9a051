package robust

import (
	"errors"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// eachFull runs test on an emulator with 16 MiB of memory and on a GPU. In both cases it first
// allocates all device memory, in pieces of at least 64 KiB.
func eachFull(t *testing.T, test func(t *testing.T, p *program, full *memoryHog)) {
	run := func(t *testing.T, d *driver.Driver) {
		p := newProgram(t, d)
		defer p.closeAll(driver.CUDA_SUCCESS)
		full := fill(t, p.c)
		defer full.free()
		test(t, p, full)
	}
	t.Run("emulator", func(t *testing.T) { run(t, gputest.Emulator(t, emulator.Config{LimitMemory: 16 << 20})) })
	t.Run("gpu", func(t *testing.T) { run(t, gputest.GPU(t)) })
}

type memoryHog struct {
	t      *testing.T
	pieces []*driver.Buffer[byte]
}

func fill(t *testing.T, c *driver.Context) *memoryHog {
	h := &memoryHog{t: t}
	for size := 16 << 30; size >= 64<<10; {
		b, err := driver.Alloc[byte](c, size)
		if err == nil {
			h.pieces = append(h.pieces, b)
			continue
		}
		outOfMemory(t, "allocation", err)
		size /= 2
	}
	free, total, err := c.MemInfo()
	ok(t, err)
	t.Logf("%d pieces fill the device, %d bytes of %d are free", len(h.pieces), free, total)
	return h
}

func (h *memoryHog) free() {
	for _, b := range h.pieces {
		closes(h.t, b)
	}
	h.pieces = nil
}

func outOfMemory(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) || errors.Is(err, driver.ErrContextLost) {
		t.Fatalf("%s: %v, want that memory is out", what, err)
	}
}

func TestMemoryOfTheDeviceRunsOut(t *testing.T) {
	eachFull(t, func(t *testing.T, p *program, full *memoryHog) {
		outOfMemory(t, "allocation", second(driver.Alloc[byte](p.c, 4<<20)))
		outOfMemory(t, "ordered allocation", second(driver.AllocAsync[byte](p.s, 64<<20)))
		p.stillWorks()
		full.free()
		works(t, p.c)
	})
}

// stillWorks checks that the existing objects work without free memory.
func (p *program) stillWorks() {
	p.t.Helper()
	ok(p.t, p.b.Fill(5))
	ok(p.t, p.s.Do(p.launch))
	ok(p.t, p.x.Run(p.t.Context(), p.s))
	got := []uint32{0}
	ok(p.t, p.b.CopyTo(got))
	if got[0] != 7 {
		p.t.Errorf("a launch and a replay made 5 into %d", got[0])
	}
	ok(p.t, p.c.Lost())
}

// The driver decides which objects still fit on a full device. Creating an object must succeed, or
// fail with the right error and without a leak.
func TestObjectsWithoutMemory(t *testing.T) {
	eachFull(t, func(t *testing.T, p *program, full *memoryHog) {
		for range 200 {
			for what, make := range map[string]func() (closer, error){
				"stream": func() (closer, error) { return p.c.NewStream() },
				"event":  func() (closer, error) { return p.c.NewEvent() },
				"module": func() (closer, error) { return p.c.LoadModule(kernels) },
			} {
				c, err := make()
				if err != nil {
					outOfMemory(t, what, err)
					continue
				}
				p.keep(c)
			}
		}
		p.stillWorks()
	})
}

// wide is the number of parallel kernels in a graph. It is large enough that the graph itself needs
// device memory.
const wide = 20000

func TestGraphsWithoutMemory(t *testing.T) {
	eachFull(t, func(t *testing.T, p *program, full *memoryHog) {
		g, err := graph.New(p.c)
		ok(t, err)
		p.keep(g)
		ok(t, second(g.AddBatch(nil, slices.Repeat([]graph.Item{{Op: p.launch}}, wide))))
		x, err := g.Instantiate()
		if err == nil {
			t.Logf("a graph of %d kernels has room", wide)
			err = x.Upload(p.s)
			p.keep(x)
		}
		if err != nil {
			outOfMemory(t, "instantiation", err)
			t.Logf("a graph of %d kernels: %v", wide, err)
		}
		p.memoryNode()
		p.stillWorks()
		full.free()
		again, err := g.Instantiate()
		ok(t, err)
		p.keep(again)
		ok(t, again.Run(t.Context(), p.s))
	})
}

// memoryNode checks a graph whose allocation node needs more memory than the device has left.
// Creating the graph must succeed. Instantiating or launching it must fail.
func (p *program) memoryNode() {
	t := p.t
	t.Helper()
	g, err := graph.New(p.c)
	ok(t, err)
	p.keep(g)
	alloc, err := driver.NewAlloc[byte](p.c, nil, 256<<20)
	ok(t, err)
	b, _, err := graph.AddAlloc(g, alloc)
	if err == nil {
		p.keep(b)
		err = runOnce(p, g)
	}
	outOfMemory(t, "memory of a graph", err)
}

func runOnce(p *program, g *graph.Graph) error {
	x, err := g.Instantiate()
	if err != nil {
		return err
	}
	p.keep(x)
	return x.Run(p.t.Context(), p.s)
}

func TestMemoryOfTheHostRunsOut(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		p := newProgram(t, d)
		defer p.closeAll(driver.CUDA_SUCCESS)
		err := second(driver.AllocHost[byte](p.c, 1<<46))
		if err == nil {
			t.Fatal("there are 64 TiB of page-locked memory")
		}
		outOfMemory(t, "page-locked memory", err)
		p.stillWorks()
	})
}
