package fused_test

import (
	"fmt"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/kernels/fused"
)

// everyType runs a test for each type of elements.
func everyType(t *testing.T, test func(k *kit, types types)) {
	each(t, func(k *kit) {
		test(k, typed[kernels.F16]{"f16"})
		test(k, typed[kernels.BF16]{"bf16"})
		test(k, typed[float32]{"f32"})
		test(k, typed[float64]{"f64"})
	})
}

// types are the parts of tests that depend on the type of elements.
type types interface {
	unary(k *kit)
	binary(k *kit)
	chain(k *kit)
	casts(k *kit)
	fma(k *kit)
}

type typed[T kernels.Float] struct{ name string }

func TestFunctionsOfOneOperand(t *testing.T) { everyType(t, func(k *kit, of types) { of.unary(k) }) }

func (of typed[T]) unary(k *kit) {
	x := fused.Input[T]("x")
	in := numbers[T](301, 1)
	from, dst := device(k, 0, in), device(k, 0, make([]T, len(in)))
	for name, op := range map[string]func(fused.Value[T]) fused.Expr[T]{
		"neg": fused.Neg[T], "abs": fused.Abs[T], "relu": fused.ReLU[T], "gelu": fused.GELU[T], "gelutanh": fused.GELUTanh[T],
		"silu": fused.SiLU[T], "sigmoid": fused.Sigmoid[T], "tanh": fused.Tanh[T], "exp": fused.Exp[T], "log": fused.Log[T],
		"sqrt": fused.Sqrt[T], "rsqrt": fused.Rsqrt[T],
	} {
		k.run(made[*fused.Kernel[T]](k)(fused.New(op(x))).Op(dst, x.Bind(from)))
		same(k, name+" "+of.name, host(k, dst), separate(k, func(c calculator) { c.unary(name, 0) }, in))
	}
}

func TestFunctionsOfTwoOperands(t *testing.T) { everyType(t, func(k *kit, of types) { of.binary(k) }) }

func (to typed[T]) binary(k *kit) {
	x, y, a := fused.Input[T]("x"), fused.Input[T]("y"), fused.Scalar[T]("a")
	xs, ys := numbers[T](301, 1), numbers[T](301, 2)
	first, second, dst := device(k, 0, xs), device(k, 0, ys), device(k, 0, make([]T, len(xs)))
	for name, op := range map[string]func(a, b fused.Value[T]) fused.Expr[T]{
		"add": fused.Add[T], "sub": fused.Sub[T], "mul": fused.Mul[T], "div": fused.Div[T], "max": fused.Maximum[T], "min": fused.Minimum[T],
	} {
		k.run(made[*fused.Kernel[T]](k)(fused.New(op(x, y))).Op(dst, y.Bind(second), x.Bind(first)))
		same(k, name+" "+to.name, host(k, dst), separate(k, func(c calculator) { c.binary(name, 0, 1) }, xs, ys))

		want := separate(k, func(c calculator) { c.scalar(name, 0, 1.5) }, xs)
		k.run(made[*fused.Kernel[T]](k)(fused.New(op(x, a))).Op(dst, x.Bind(first), a.Bind(of[T](1.5))))
		same(k, name+" with a scalar "+to.name, host(k, dst), want)
		k.run(made[*fused.Kernel[T]](k)(fused.New(op(x, fused.Const(of[T](1.5))))).Op(dst, x.Bind(first)))
		same(k, name+" with a constant "+to.name, host(k, dst), want)
	}
}

// The lengths and the first elements are such that packs begin and end everywhere.
func TestChainsEqualSeparateOperations(t *testing.T) {
	everyType(t, func(k *kit, of types) { of.chain(k) })
}

func (to typed[T]) chain(k *kit) {
	x, c := fused.Input[T]("x"), fused.Input[T]("c")
	a, b := fused.Scalar[T]("a"), fused.Scalar[T]("b")
	kernel := made[*fused.Kernel[T]](k)(fused.New(fused.Mul(fused.GELU(fused.Add(fused.Mul(a, x), b)), c)))
	for _, n := range []int{1, 2, 7, 8, 15, 16, 1000, 2500} {
		xs, cs := numbers[T](n, uint64(n)), numbers[T](n, uint64(n)+1)
		want := separate(k, func(c calculator) {
			c.scalar("mul", 0, 1.5)
			c.scalar("add", -1, -0.25)
			c.unary("gelu", -1)
			c.binary("mul", -1, 1)
		}, xs, cs)
		for _, skip := range [][3]int{{}, {1, 1, 1}, {0, 1, 0}, {3, 0, 7}, {5, 5, 2}} {
			around := numbers[T](n+20, 9)
			whole := device(k, 0, around)
			dst := whole.View(skip[0], skip[0]+n)
			k.run(kernel.Op(dst, x.Bind(device(k, skip[1], xs)), c.Bind(device(k, skip[2], cs)), a.Bind(of[T](1.5)), b.Bind(of[T](-0.25))))
			copy(around[skip[0]:], want)
			same(k, fmt.Sprintf("%s, %d elements, from %v", to.name, n, skip), host(k, whole), around)
		}
	}
}

func TestCasts(t *testing.T) { everyType(t, func(k *kit, of types) { of.casts(k) }) }

func (to typed[T]) casts(k *kit) {
	castTo[T, kernels.F16](k, to.name+" to f16")
	castTo[T, kernels.BF16](k, to.name+" to bf16")
	castTo[T, float32](k, to.name+" to f32")
	castTo[T, float64](k, to.name+" to f64")
}

func castTo[S, D kernels.Float](k *kit, name string) {
	in := append(numbers[S](100, 5), of[S](1+0x1p-11+0x1p-30), of[S](1+0x1p-8+0x1p-40), of[S](1e300), of[S](65519.99))
	x := fused.Input[S]("x")
	from, dst := device(k, 3, in), device(k, 1, make([]D, len(in)))
	k.run(made[*fused.Kernel[D]](k)(fused.New(fused.Cast[D](x))).Op(dst, x.Bind(from)))
	got := host(k, dst)
	k.run(kernels.Cast(dst, from))
	same(k, name, got, host(k, dst))
}

func TestFMA(t *testing.T) { everyType(t, func(k *kit, of types) { of.fma(k) }) }

func (to typed[T]) fma(k *kit) {
	x, y, a := fused.Input[T]("x"), fused.Input[T]("y"), fused.Scalar[T]("a")
	xs, ys := device(k, 0, numbers[T](300, 1)), device(k, 0, numbers[T](300, 2))
	dst := device(k, 0, make([]T, 300))
	k.run(made[*fused.Kernel[T]](k)(fused.New(fused.FMA(a, x, y))).Op(dst, x.Bind(xs), y.Bind(ys), a.Bind(of[T](1.1))))
	k.run(kernels.Axpy(ys, of[T](1.1), xs))
	same(k, to.name, host(k, dst), host(k, ys))
}

// A 16-bit expression is rounded at the end. A cast to its own type rounds in between, as separate
// 16-bit operations do.
func TestCastToTheSameTypeRounds(t *testing.T) {
	each(t, func(k *kit) {
		x, y := fused.Input[kernels.F16]("x"), fused.Input[kernels.F16]("y")
		xs, ys := device(k, 0, numbers[kernels.F16](900, 1)), device(k, 0, numbers[kernels.F16](900, 2))
		dst, tmp := device(k, 0, make([]kernels.F16, 900)), device(k, 0, make([]kernels.F16, 900))
		k.run(kernels.Mul(tmp, xs, ys))
		k.run(kernels.Add(tmp, tmp, xs))
		product := fused.Mul(x, y)
		rounded := made[*fused.Kernel[kernels.F16]](k)(fused.New(fused.Add(fused.Cast[kernels.F16](product), x)))
		k.run(rounded.Op(dst, x.Bind(xs), y.Bind(ys)))
		same(k, "rounded", host(k, dst), host(k, tmp))

		wide := device(k, 0, make([]float32, 900))
		k.run(made[*fused.Kernel[float32]](k)(fused.New(fused.Cast[float32](product))).Op(wide, x.Bind(xs), y.Bind(ys)))
		k.run(kernels.Mul(dst, xs, ys))
		same(k, "rounded, to float32", host(k, wide), host(k, converted[float32](k, host(k, dst))))

		k.run(made[*fused.Kernel[kernels.F16]](k)(fused.New(fused.Add(product, x))).Op(dst, x.Bind(xs), y.Bind(ys)))
		got, separate, differ := host(k, dst), host(k, tmp), 0
		for i := range got {
			if got[i] != separate[i] {
				differ++
			}
		}
		if differ < 50 {
			k.Errorf("only %d elements differ from those that are rounded twice", differ)
		}
	})
}

// An expression can have inputs of several types, some of which are larger than the result.
func TestSeveralTypes(t *testing.T) {
	each(t, func(k *kit) {
		h, w := fused.Input[kernels.F16]("h"), fused.Input[float64]("w")
		s := fused.Input[float32]("s")
		hs, ws, ss := numbers[kernels.F16](777, 1), numbers[float64](777, 2), numbers[float32](777, 3)
		sum := fused.Add(fused.Cast[float32](h), fused.Mul(s, fused.Cast[float32](w)))
		want := separate(k, func(c calculator) {
			c.binary("mul", 1, 2)
			c.binary("add", 0, -1)
		}, host(k, converted[float32](k, hs)), ss, host(k, converted[float32](k, ws)))
		for _, skip := range []int{0, 1, 4} {
			dst := device(k, skip, make([]kernels.BF16, len(hs)))
			kernel := made[*fused.Kernel[kernels.BF16]](k)(fused.New(fused.Cast[kernels.BF16](sum)))
			k.run(kernel.Op(dst, h.Bind(device(k, 0, hs)), w.Bind(device(k, skip, ws)), s.Bind(device(k, 2, ss))))
			same(k, fmt.Sprint(skip), host(k, dst), host(k, converted[kernels.BF16](k, want)))
		}
	})
}

func TestInPlace(t *testing.T) {
	each(t, func(k *kit) {
		x := fused.Input[float32]("x")
		xs := numbers[float32](1003, 1)
		memory := device(k, 1, xs)
		k.run(made[*fused.Kernel[float32]](k)(fused.New(fused.Mul(x, x))).Op(memory, x.Bind(memory)))
		same(k, "x·x", host(k, memory), separate(k, func(c calculator) { c.binary("mul", 0, 0) }, xs))
	})
}

// A grid that is too small for the elements must compute all of them.
func TestSmallGrid(t *testing.T) {
	each(t, func(k *kit) {
		x := fused.Input[float32]("x")
		xs := numbers[float32](5001, 1)
		dst := device(k, 3, make([]float32, len(xs)))
		op, err := made[*fused.Kernel[float32]](k)(fused.New(fused.Neg(x))).Op(dst, x.Bind(device(k, 3, xs)))
		k.ok(err)
		cfg := op.Config()
		cfg.Grid = driver.D1(2)
		k.ok(op.SetConfig(cfg))
		k.run(op, nil)
		same(k, "-x", host(k, dst), separate(k, func(c calculator) { c.unary("neg", 0) }, xs))
	})
}
