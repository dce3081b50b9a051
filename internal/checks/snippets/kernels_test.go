package snippets

import (
	"context"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/kernels/fused"
)

func Example_kernelsReady() {
	_, ctx, stream := open()
	const rows, columns = 2, 2
	x, y, z, weight := ones(ctx), ones(ctx), ones(ctx), ones(ctx).View(0, columns)
	// [ready]
	scale, err := kernels.MulScalar(y, x, float32(0.5))
	check(err)
	norm, err := kernels.RMSNorm(kernels.MatrixOf(z, rows, columns), kernels.MatrixOf(y, rows, columns), weight, 1e-6)
	check(err)
	err = errors.Join(stream.Do(scale), stream.Do(norm)) // or graph.Capture, Graph.Add, Exec.Set, Flow.Add
	// [end]
	check(err, stream.Wait(context.Background()))
	fmt.Println(contents(y)[0], contents(z)[0] > 0.99)
	// Output: 0.5 true
}

func Example_kernelsFused() {
	_, ctx, stream := open()
	in, bias, out := ones(ctx), ones(ctx), ones(ctx)
	// [fused]
	x, c := fused.Input[float32]("x"), fused.Input[float32]("c")
	a := fused.Scalar[float32]("a")
	y := fused.Maximum(fused.Add(fused.Mul(a, x), c), fused.Const[float32](0))

	kernel, err := fused.New(y)
	check(err)
	op, err := kernel.Op(out, x.Bind(in), c.Bind(bias), a.Bind(2))
	check(err)
	err = stream.Do(op) // or graph.Capture, Graph.Add, Exec.Set, Flow.Add
	check(err)

	arg, err := a.Arg(op) // to change the scalar between launches
	check(err)
	err = arg.Set(3)
	// [end]
	check(err, stream.Wait(context.Background()))
	fmt.Println(contents(out)[0], op.Kernel().Name())
	// Output: 3 fused_mul_add_max_f32
}

func Example_kernelsOwn() {
	_, ctx, stream := open()
	x := ones(ctx)
	kernelsPTX := affinePTX
	// [own]
	module := must(ctx.LoadModule(kernelsPTX)) // the driver compiles it; errors contain the compiler's log
	defer module.Close()
	kernel := must(module.Kernel("affine")) // x[i] = a·x[i] + b, with the parameters x, n, a, b
	grid := driver.LaunchConfig{Grid: driver.Blocks(x.Len(), 128), Block: driver.D1(128)}
	step := must(kernel.Prepare(grid, x, uint32(x.Len()), float32(2), float32(1)))
	check(stream.Do(step))
	check(stream.Wait(context.Background()))
	// [end]
	fmt.Println(contents(x))
	// Output: [3 3 3 3]
}

func Example_kernelsWrong() {
	_, ctx, _ := open()
	x, kernel, grid := ones(ctx), affine(ctx), config
	// [wrong]
	_, err := kernel.Prepare(grid, x, x.Len(), float32(2), float32(1))
	fmt.Println(err)
	// [end]

	// Output: launch of kernel affine: argument 1 (n): a Go int has no fixed size; use int32 or int64
}

func Example_kernelsAccess() {
	_, ctx, _ := open()
	x, y := ones(ctx), ones(ctx)
	_ = y
	kernel := affine(ctx)
	// [access]
	step := must(kernel.Prepare(config, driver.InOut(x), uint32(x.Len()), float32(2), float32(1)))
	fmt.Println(step.Uses().Accesses[0].Mode)
	// [end]

	// Output: read and write
}

func Example_kernelsInspect() {
	text := affinePTX
	// [inspect]
	module := must(ptx.Parse("affine.ptx", text))
	fmt.Println(module.Version, module.Targets)
	fmt.Println(ptx.Inspect(module).Kernels[0].Name)
	// [end]

	// Output:
	// 7.0 [sm_52]
	// affine
}
