package fused_test

import (
	"context"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/ptx/kernels/fused"
)

// One kernel computes gelu(a·x + b)·c. Afterwards, the scalar a changes.
func ExampleKernel() {
	d := must(driver.New(emulator.New(emulator.Config{})))
	defer d.Close()
	ctx := must(must(d.Device(0)).PrimaryContext())
	defer ctx.Close()
	stream := must(ctx.NewStream())
	defer stream.Close()
	xs := must(driver.AllocFrom(ctx, []float32{-1, 0, 1, 2}))
	defer xs.Close()
	cs := must(driver.AllocFrom(ctx, []float32{10, 10, 10, 10}))
	defer cs.Close()
	dst := must(driver.Alloc[float32](ctx, 4))
	defer dst.Close()

	x, c := fused.Input[float32]("x"), fused.Input[float32]("c")
	a, b := fused.Scalar[float32]("a"), fused.Scalar[float32]("b")
	y := fused.Mul(fused.GELU(fused.Add(fused.Mul(a, x), b)), c)
	kernel := must(fused.New(y))
	op := must(kernel.Op(dst, x.Bind(xs), c.Bind(cs), a.Bind(2), b.Bind(1)))
	check(stream.Do(op))
	check(stream.Wait(context.Background()))
	show(dst)

	arg := must(a.Arg(op))
	check(arg.Set(0))
	check(stream.Do(op))
	check(stream.Wait(context.Background()))
	show(dst)
	fmt.Println(op.Kernel().Name())
	// Output:
	// [-1.59 8.41 29.96 50.00]
	// [8.41 8.41 8.41 8.41]
	// fused_mul_add_gelu_mul_f32
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func show(m *driver.Buffer[float32]) {
	v := make([]float32, m.Len())
	check(m.CopyTo(v))
	fmt.Printf("%.2f\n", v)
}
