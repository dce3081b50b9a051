// Command 17-cublas captures matrix products of cuBLAS into a graph, between
// kernels of its own: a layer max(0, A×B + bias) in single and in half precision.
// cuBLAS is opened when the program runs, through package loader; where it is not
// installed, or where there is no GPU, the program says so.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/loader"
)

//go:embed kernels.ptx
var ptx []byte

var size = shape{m: 70, n: 130, k: 96}

const (
	workspaceBytes = 32 << 20
	replays        = 3
)

func main() { demo.Main("17-cublas", run) }

func run(d *demo.Demo) error {
	if d.Emulated {
		d.Printf("There is nothing to show: cuBLAS computes on a GPU only.")
		return nil
	}
	lib, err := openCUBLAS(d.Context)
	if demo.NotInstalled(cublas, err) {
		d.Printf("There is nothing to show: cuBLAS is not installed. Install the CUDA toolkit, and have CUDA_PATH name its folder if cuBLAS is not found then.\n%v", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("cuBLAS cannot be used: %w", err)
	}
	return layers(d, lib)
}

// layers does with a cuBLAS what the example shows. The library is not closed:
// like the driver, it does not stand being unloaded.
func layers(d *demo.Demo, lib loader.Library) error {
	d.Printf("computing with cuBLAS (%s)", lib.Name())
	b, err := newBLAS(lib, d.Context)
	if err != nil {
		return err
	}
	d.Close(b)
	workspace, err := driver.Alloc[byte](d.Context, workspaceBytes)
	if err != nil {
		return err
	}
	d.Close(workspace)
	if err := b.use(d.Stream, workspace); err != nil {
		return err
	}
	l, err := newLayer(d, b)
	if err != nil {
		return err
	}

	// Once without a graph: cuBLAS loads its kernels when they are first used, and
	// that is better done before a capture.
	if err := l.step("eagerly", func() error { return l.enqueue(d.Stream) }); err != nil {
		return err
	}
	exec, err := l.capture(workspace)
	if err != nil {
		return err
	}
	for i := range replays {
		if err := l.step(fmt.Sprintf("in replay %d", i+1), func() error { return exec.Run(context.Background(), d.Stream) }); err != nil {
			return err
		}
	}
	d.Printf("%d replays, each with another input: all results are right", replays)
	return nil
}

// layer has the matrices, twice where there are two precisions.
type layer struct {
	*demo.Demo
	blas           *blas
	random         *rand.Rand
	weights, bias  []float32 // B and the bias, as they are on the device
	a, b, c32, c16 *driver.Buffer[float32]
	halfA, halfB   *driver.Buffer[half]
	halves         []driver.Op // before the product in half precision
	ends           []driver.Op // after the products
}

func newLayer(d *demo.Demo, b *blas) (*layer, error) {
	l := &layer{Demo: d, blas: b, random: rand.New(rand.NewPCG(1, 2))}
	l.weights, l.bias = l.numbers(size.k*size.n), l.numbers(size.n)
	for buffer, n := range map[**driver.Buffer[float32]]int{
		&l.a: size.m * size.k, &l.b: size.k * size.n, &l.c32: size.m * size.n, &l.c16: size.m * size.n,
	} {
		var err error
		if *buffer, err = demo.Memory[float32](d, n, 0); err != nil {
			return nil, err
		}
	}
	for buffer, n := range map[**driver.Buffer[half]]int{&l.halfA: size.m * size.k, &l.halfB: size.k * size.n} {
		var err error
		if *buffer, err = demo.Memory[half](d, n, 0); err != nil {
			return nil, err
		}
	}
	if err := l.b.CopyFrom(l.weights); err != nil {
		return nil, err
	}
	return l, l.prepare()
}

// numbers are multiples of 1/64, which half precision has exactly.
func (l *layer) numbers(n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(l.random.IntN(129)-64) / 64
	}
	return list
}

// prepare makes the launches of our own kernels.
func (l *layer) prepare() error {
	bias, err := demo.MemoryFrom(l.Demo, l.bias)
	if err != nil {
		return err
	}
	var halve, biasReLU *driver.Kernel
	if err := l.Kernels(ptx, map[string]**driver.Kernel{"halve": &halve, "bias_relu": &biasReLU}); err != nil {
		return err
	}
	for _, p := range []struct {
		dst *driver.Buffer[half]
		src *driver.Buffer[float32]
	}{{l.halfA, l.a}, {l.halfB, l.b}} {
		op, err := halve.Prepare(demo.PerElement(p.src.Len()), p.dst, p.src, uint32(p.src.Len()))
		if err != nil {
			return err
		}
		l.halves = append(l.halves, op)
	}
	for _, c := range []*driver.Buffer[float32]{l.c32, l.c16} {
		op, err := biasReLU.Prepare(demo.PerElement(c.Len()), c, bias, uint32(size.n), uint32(c.Len()))
		if err != nil {
			return err
		}
		l.ends = append(l.ends, op)
	}
	return nil
}

// target is a stream, or the scope of a capture.
type target interface{ Do(ops ...driver.Op) error }

// enqueue sends the work to the stream or into its capture. cuBLAS knows its
// stream itself.
func (l *layer) enqueue(to target) error {
	if err := l.blas.product32(size, l.c32, l.a, l.b); err != nil {
		return err
	}
	for _, op := range l.halves {
		if err := to.Do(op); err != nil {
			return err
		}
	}
	if err := l.blas.product16(size, l.c16, l.halfA, l.halfB); err != nil {
		return err
	}
	for _, op := range l.ends {
		if err := to.Do(op); err != nil {
			return err
		}
	}
	return nil
}

// capture records the work instead of running it. The graph does not see what
// cuBLAS's kernels refer to, so it is told.
func (l *layer) capture(workspace *driver.Buffer[byte]) (*graph.Exec, error) {
	g, err := graph.Capture(l.Stream, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		if err := l.enqueue(sc); err != nil {
			return err
		}
		return sc.Keep(l.a.Ref(), l.b.Ref(), l.c32.Ref(), l.c16.Ref(), l.halfA.Ref(), l.halfB.Ref(), workspace.Ref())
	})
	if err != nil {
		return nil, err
	}
	l.Close(g)
	n, err := g.Len()
	if err != nil {
		return nil, err
	}
	l.Printf("captured a graph of %d nodes, %d of them cuBLAS's", n, n-len(l.halves)-len(l.ends))
	if n <= len(l.halves)+len(l.ends) {
		return nil, fmt.Errorf("the products of cuBLAS are not in the graph")
	}
	exec, err := g.Instantiate()
	if err != nil {
		return nil, err
	}
	l.Close(exec)
	return exec, nil
}

// step runs the work on a new input and compares both results with sums in
// double precision.
func (l *layer) step(how string, work func() error) error {
	input := l.numbers(size.m * size.k)
	if err := l.a.CopyFrom(input); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	if err := l.Stream.Wait(context.Background()); err != nil {
		return err
	}
	want := l.reference(input)
	inSingle, err := furthest(l.c32, want)
	if err != nil {
		return err
	}
	inHalf, err := furthest(l.c16, want)
	if err != nil {
		return err
	}
	if tolerance := 1e-5 * float64(size.k); inSingle > tolerance || inHalf > tolerance {
		return fmt.Errorf("wrong result %s: single precision is off by %g, half by %g", how, inSingle, inHalf)
	}
	l.Printf("computed %s: single precision is off by %.2g at most, half by %.2g", how, inSingle, inHalf)
	return nil
}

// reference is max(0, A×B + bias).
func (l *layer) reference(a []float32) []float64 {
	want := make([]float64, size.m*size.n)
	for i := range size.m {
		for j := range size.n {
			sum := float64(l.bias[j])
			for k := range size.k {
				sum += float64(a[i*size.k+k]) * float64(l.weights[k*size.n+j])
			}
			want[i*size.n+j] = max(0, sum)
		}
	}
	return want
}

// furthest is the largest difference between what is on the device and want.
func furthest(b *driver.Buffer[float32], want []float64) (worst float64, err error) {
	got := make([]float32, b.Len())
	if err := b.CopyTo(got); err != nil {
		return 0, err
	}
	for i, v := range got {
		worst = max(worst, math.Abs(float64(v)-want[i])) // max keeps a NaN
	}
	if math.IsNaN(worst) {
		worst = math.Inf(1)
	}
	return worst, nil
}
