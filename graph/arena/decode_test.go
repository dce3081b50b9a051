package arena_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
)

// decoder records graphs like the ones in examples/14-decode: a chain of kernels for each layer, on
// matrices with one row per sequence of the batch. Weights, input and output are outside the arena.
type decoder struct {
	*kit
	dim, layers        int
	weight, input, out *driver.Buffer[float32]
	host               *driver.HostBuffer[float32]
}

const graphs = 10

func (k *kit) decoder(rows, dim, layers int) *decoder {
	k.Helper()
	d := &decoder{kit: k, dim: dim, layers: layers}
	for b, n := range map[**driver.Buffer[float32]]int{&d.weight: dim, &d.input: rows * dim, &d.out: rows * dim} {
		var err error
		*b, err = driver.Alloc[float32](k.C, n)
		k.OK(err)
		k.CloseLater(*b)
	}
	values := make([]float32, rows*dim)
	for i := range values {
		values[i] = float32(i%97)/97 - 0.5
	}
	k.OK(d.input.CopyFrom(values))
	k.OK(d.weight.CopyFrom(values[:dim]))
	var err error
	d.host, err = driver.AllocHost[float32](k.C, rows*dim)
	k.OK(err)
	k.CloseLater(d.host)
	return d
}

// step returns the operations of one step for a batch of the given number of rows.
func (d *decoder) step(rows int, alloc func(n int) *driver.Buffer[float32]) (ops []driver.Op) {
	d.Helper()
	do := func(op driver.Op, err error) {
		d.Helper()
		d.OK(err)
		ops = append(ops, op)
	}
	n := rows * d.dim
	x, normed, gate, up := alloc(n), alloc(n), alloc(n), alloc(n)
	do(driver.CopyDevice[float32](x, d.input.View(0, n)))
	for layer := range d.layers {
		do(kernels.RMSNorm(kernels.MatrixOf(normed, rows, d.dim), kernels.MatrixOf(x, rows, d.dim), d.weight, float32(1e-5)))
		do(kernels.MulScalar(gate, normed, float32(rows+layer)))
		do(kernels.SiLU(gate, gate))
		do(kernels.Mul(up, gate, normed))
		do(kernels.Add(x, x, up))
	}
	do(driver.CopyDevice[float32](d.out.View(0, n), x))
	do(driver.Download(d.host.View(0, n), d.out.View(0, n)))
	return ops
}

func (d *decoder) exec(rows int, alloc func(n int) *driver.Buffer[float32]) *graph.Exec {
	d.Helper()
	ops := d.step(rows, alloc) // outside the capture, because driver.Alloc cannot be captured
	g := d.Capture(func(sc *graph.Scope) error { return sc.Do(ops...) })
	return d.Exec(g)
}

// Ten graphs of one arena must need at most 1.15 times the memory of the largest, and must have the
// same results as with separate memory. The largest is recorded last, which is the hardest order
// for the arena.
func TestTenGraphsNeedTheMemoryOfTheLargest(t *testing.T) {
	t.Run("emulator", func(t *testing.T) {
		c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
		newKit(t, c).tenGraphs(50, 1024, 1)
	})
	t.Run("gpu", func(t *testing.T) { newKit(t, gputest.Context(t, gputest.GPU(t))).tenGraphs(800, 1024, 32) })
}

func (k *kit) tenGraphs(unit, dim, layers int) {
	k.Helper()
	d := k.decoder(graphs*unit, dim, layers)
	free := k.free()
	a := k.arena()
	var shared, separate []*graph.Exec
	for i := 1; i <= graphs; i++ {
		p := k.plan(a, fmt.Sprintf("decode %d", i))
		shared = append(shared, d.exec(i*unit, func(n int) *driver.Buffer[float32] {
			b, err := arena.Alloc[float32](p, n)
			k.OK(err)
			return b
		}))
		k.OK(p.Seal())
	}
	of := free - k.free()
	free = k.free()
	var all, largest uint64
	for i := 1; i <= graphs; i++ {
		largest = 0
		separate = append(separate, d.exec(i*unit, func(n int) *driver.Buffer[float32] {
			b, err := driver.Alloc[float32](k.C, n)
			k.OK(err)
			k.CloseLater(b)
			largest += uint64(b.Bytes())
			return b
		}))
		all += largest
	}
	r := a.Report()
	k.Logf("%d graphs: %d bytes in the arena, %.3f x the largest graph's %d; separate memory: %.3f x", graphs, r.Bytes,
		float64(r.Bytes)/float64(largest), largest, float64(all)/float64(largest))
	k.Logf("device memory by the driver: %d bytes with the arena, %d with separate memory, graphs included", of, free-k.free())
	if float64(r.Bytes) > 1.15*float64(largest) {
		k.Errorf("the arena is larger than 1.15 times the largest graph:\n%v", r)
	}
	streams := []*driver.Stream{k.S, k.Stream()}
	for i := range graphs {
		n := (i + 1) * unit * dim
		k.OK(separate[i].Run(background, k.S))
		want := slices.Clone(d.host.Slice()[:n])
		clear(d.host.Slice())
		k.OK(shared[graphs-1-i].Launch(streams[i%2])) // must not change the results of the next launch
		k.OK(shared[i].Run(background, streams[(i+1)%2]))
		for j, v := range d.host.Slice()[:n] {
			if v != want[j] {
				k.Fatalf("graph %d, element %d: %v in the arena, %v with separate memory", i+1, j, v, want[j])
			}
		}
	}
}

func (k *kit) free() uint64 {
	k.Helper()
	n, _, err := k.C.MemInfo()
	k.OK(err)
	return n
}
