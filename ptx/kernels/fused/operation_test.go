package fused_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/kernels/fused"
)

const (
	x = fused.Input[float32]("x")
	y = fused.Input[float32]("y")
	a = fused.Scalar[float32]("a")
)

// axy returns the kernel of a·x + y.
func axy(k *kit) *fused.Kernel[float32] {
	return made[*fused.Kernel[float32]](k)(fused.New(fused.Add(fused.Mul(a, x), y)))
}

func (k *kit) all(m driver.View[float32], want float32) {
	k.Helper()
	for i, v := range host(k, m) {
		if v != want {
			k.Fatalf("element %d is %v, want %v", i, v, want)
		}
	}
}

func ones(k *kit, n int) driver.View[float32] {
	v := make([]float32, n)
	for i := range v {
		v[i] = 1
	}
	return device(k, 0, v)
}

// A graph node keeps its arguments. A scalar changes for the launches that follow, and by an update
// for the replays that follow.
func TestScalarsChange(t *testing.T) {
	each(t, func(k *kit) {
		xs, dst := ones(k, 1000), ones(k, 1000)
		op, err := axy(k).Op(dst, x.Bind(xs), y.Bind(xs), a.Bind(2))
		k.ok(err)
		g, err := graph.New(k.c)
		k.ok(err)
		defer g.Close()
		node, err := g.Add(op)
		k.ok(err)
		exec, err := g.Instantiate()
		k.ok(err)
		defer exec.Close()
		arg, err := a.Arg(op)
		k.ok(err)
		k.ok(arg.Set(4))
		k.run(op, nil)
		k.all(dst, 5)
		k.ok(exec.Run(context.Background(), k.s))
		k.all(dst, 3)
		k.ok(exec.Set(node, op))
		k.ok(exec.Run(context.Background(), k.s))
		k.all(dst, 5)
	})
}

func TestUpdate(t *testing.T) {
	each(t, func(k *kit) {
		kernel := axy(k)
		xs, dst := ones(k, 1000), ones(k, 9000)
		op, err := kernel.Op(dst.View(0, 1000), x.Bind(xs), y.Bind(xs), a.Bind(2))
		k.run(op, err)
		big := ones(k, 9000)
		k.ok(kernel.Update(op, dst, a.Bind(7), y.Bind(big), x.Bind(big)))
		k.run(op, nil)
		k.all(dst, 8)

		other, err := kernels.Fill(dst, 1)
		k.ok(err)
		for _, op := range []*driver.Launch{other, nil} {
			if err := kernel.Update(op, dst, a.Bind(7), y.Bind(big), x.Bind(big)); err == nil {
				k.Error("Update changed an operation of another kernel")
			}
		}
	})
}

// Equal expressions have the same kernel, even if a program builds them again.
func TestKernelsAreLoadedOnce(t *testing.T) {
	each(t, func(k *kit) {
		xs := ones(k, 10)
		first, err := axy(k).Op(xs, x.Bind(xs), y.Bind(xs), a.Bind(2))
		k.ok(err)
		second, err := axy(k).Op(xs, x.Bind(xs), y.Bind(xs), a.Bind(2))
		k.ok(err)
		if first.Kernel() != second.Kernel() {
			k.Error("the second operation has another kernel")
		}
		third, err := made[*fused.Kernel[float32]](k)(fused.New(fused.Add(fused.Mul(a, y), x))).Op(xs, x.Bind(xs), y.Bind(xs), a.Bind(2))
		k.ok(err)
		if third.Kernel() == first.Kernel() {
			k.Error("another expression has the same kernel")
		}
	})
}

// An expression that contains itself twice at each level has few steps.
func TestPartsAreComputedOnce(t *testing.T) {
	each(t, func(k *kit) {
		e := fused.Mul(x, x)
		for range 5 {
			e = fused.Mul(e, e)
		}
		again := fused.Mul(fused.Mul(x, x), fused.Mul(x, x))
		kernel := made[*fused.Kernel[float32]](k)(fused.New(fused.Add(e, again)))
		for range 60 {
			e = fused.Sub(e, e)
		}
		k.ok(func() error { _, err := fused.New(e); return err }())
		if n := strings.Count(string(kernel.PTX()), "mul.rn.f32"); n != 6*5 {
			k.Errorf("%d multiplications for 5 elements, want 6 each", n)
		}
		xs := ones(k, 10)
		op, err := kernel.Op(xs, x.Bind(xs))
		k.run(op, err)
		k.all(xs, 2)
		if name := op.Kernel().Name(); name != "fused_mul_mul_mul_mul_mul_mul_add_f32" {
			k.Errorf("the kernel has the name %s", name)
		}
	})
}

// No memory, no error: as the operations of package kernels.
func TestNoElements(t *testing.T) {
	each(t, func(k *kit) {
		xs := ones(k, 10)
		empty := xs.View(3, 3)
		k.run(axy(k).Op(empty, x.Bind(empty), y.Bind(empty), a.Bind(2)))
		k.all(xs, 1)
	})
}

func TestWrongBindingsAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		xs, dst := ones(k, 10), ones(k, 10)
		long := ones(k, 11)
		closed, err := driver.Alloc[float32](k.c, 10)
		k.ok(err)
		k.ok(closed.Close())
		kernel := axy(k)
		for want, bindings := range map[string][]fused.Binding{
			`the Input "y" of type f32 has no binding`:                                                        {x.Bind(xs), a.Bind(2)},
			`the binding is for the Scalar "y" of type f32, but the expression has the Input "y" of type f32`: {x.Bind(xs), fused.Scalar[float32]("y").Bind(2), a.Bind(2)},
			`the binding is for the Scalar "a" of type f64`:                                                   {x.Bind(xs), y.Bind(xs), fused.Scalar[float64]("a").Bind(2)},
			"there are 4 bindings for 3 inputs and scalars":                                                   {x.Bind(xs), y.Bind(xs), a.Bind(2), a.Bind(2)},
			"dst has 10 elements, but y has 11":                                                               {x.Bind(xs), y.Bind(long), a.Bind(2)},
			"x is nil":                                                                                        {x.Bind(nil), y.Bind(xs), a.Bind(2)},
			"x: ":                                                                                             {x.Bind(closed), y.Bind(xs), a.Bind(2)},
		} {
			if _, err := kernel.Op(dst, bindings...); err == nil || !strings.Contains(err.Error(), want) {
				k.Errorf("the error is %v, want %s", err, want)
			}
		}
		overlap := long.View(1, 11)
		_, err = kernel.Op(long.View(0, 10), x.Bind(overlap), y.Bind(xs), a.Bind(2))
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "dst and x overlap") {
			k.Errorf("the error is %v", err)
		}
		if _, err := kernel.Op(nil, x.Bind(xs), y.Bind(xs), a.Bind(2)); err == nil || !strings.Contains(err.Error(), "dst is nil") {
			k.Errorf("the error is %v", err)
		}
	})
}

func TestWrongExpressionsAreRefused(t *testing.T) {
	in := func(s string) fused.Input[float32] { return fused.Input[float32](s) }
	for want, e := range map[string]fused.Value[float32]{
		"the expression is a zero Expr":                 fused.Expr[float32]{},
		"operand 2 of add is nil":                       fused.Add(x, nil),
		"operand 1 of gelu is nil":                      fused.GELU(fused.Expr[float32]{}),
		`the Input "dst" of type f32: `:                 in("dst"),
		`the Input "n" of type f32: `:                   in("n"),
		`the Input "" of type f32: the name is`:         in(""),
		`the Input "2x" of type f32: `:                  in("2x"),
		`the Input "é" of type f32: `:                   in("é"),
		`the Scalar "x" of type f32 have the same name`: fused.Add(x, fused.Scalar[float32]("x")),
		`the Input "x" of type f64 have the same name`:  fused.Add(x, fused.Cast[float32](fused.Input[float64]("x"))),
	} {
		if _, err := fused.New(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// Drivers since CUDA 11.4 must accept the kernels, even for old devices.
func TestKernelsAreForOldDevicesToo(t *testing.T) {
	h, b, d := fused.Input[kernels.F16]("h"), fused.Input[kernels.BF16]("b"), fused.Input[float64]("d")
	e := fused.Add(fused.Add(fused.Cast[float64](fused.GELU(h)), fused.Cast[float64](fused.Tanh(b))), fused.GELU(d))
	kernel, err := fused.New(fused.Cast[kernels.BF16](fused.FMA(e, e, fused.Rsqrt(fused.Log(fused.Exp(e))))))
	if err != nil {
		t.Fatal(err)
	}
	m, err := ptx.Parse("kernel", kernel.PTX())
	if err != nil || m.Version.AtLeast(7, 1) || m.Targets[0] != "sm_52" {
		t.Errorf("%v, PTX %v for %v", err, m.Version, m.Targets)
	}
}

// An emulated launch itself allocates memory. Without a GPU, the function that launches is therefore
// replaced by one that does nothing.
func TestLaunchesAndUpdatesAllocateNothing(t *testing.T) {
	test := func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		kernel, first, second := axy(k), ones(k, 1000), ones(k, 9000)
		op, err := kernel.Op(first, x.Bind(first), y.Bind(first), a.Bind(2))
		k.ok(err)
		arg, err := a.Arg(op)
		k.ok(err)
		n := 0
		if allocs := gputest.Allocs(0, 50, func() {
			n++
			k.ok(arg.Set(float32(n)))
			k.ok(k.s.Do(op))
			part := second.View(n, 2*n)
			k.ok(kernel.Update(op, part, x.Bind(part), y.Bind(first.View(0, n)), a.Bind(float32(n))))
			k.ok(k.s.Do(op))
		}); allocs != 0 {
			t.Errorf("%v allocations", allocs)
		}
		k.ok(k.s.Wait(t.Context()))
	}
	t.Run("gpu", func(t *testing.T) { gputest.OnGPU(t, test) })
	t.Run("silent", func(t *testing.T) { test(t, gputest.Silent(t, cu.FnCuLaunchKernel)) })
}
