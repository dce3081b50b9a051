package fused_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/num"
)

type kit struct {
	testing.TB
	c *driver.Context
	s *driver.Stream
}

// each runs a test on the emulator and on the GPU.
func each(t *testing.T, test func(k *kit)) {
	t.Helper()
	gputest.Each(t, func(t *testing.T, c *driver.Context) { test(newKit(t, c)) })
}

func newKit(t testing.TB, c *driver.Context) *kit {
	t.Helper()
	s, err := c.NewStream()
	k := &kit{TB: t, c: c, s: s}
	k.ok(err)
	k.Cleanup(func() { k.ok(s.Close()) })
	return k
}

func (k *kit) ok(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func (k *kit) run(op *driver.Launch, err error) {
	k.Helper()
	k.ok(err)
	k.ok(k.s.Do(op))
	k.ok(k.s.Wait(context.Background()))
}

func made[T any](k *kit) func(v T, err error) T {
	return func(v T, err error) T {
		k.Helper()
		k.ok(err)
		return v
	}
}

// device copies v to device memory, skip elements after the start of a buffer.
func device[T any](k *kit, skip int, v []T) driver.View[T] {
	k.Helper()
	b, err := driver.AllocFrom(k.c, append(make([]T, skip), v...))
	k.ok(err)
	k.Cleanup(func() { k.ok(b.Close()) })
	return b.View(skip, skip+len(v))
}

func host[T any](k *kit, m driver.View[T]) []T {
	k.Helper()
	v := make([]T, m.Len())
	k.ok(m.CopyTo(v))
	return v
}

func of[T kernels.Float](f float64) T {
	var v T
	switch p := any(&v).(type) {
	case *kernels.F16:
		*p = num.F16FromFloat64(f)
	case *kernels.BF16:
		*p = num.BF16FromFloat64(f)
	case *float32:
		*p = float32(f)
	case *float64:
		*p = f
	}
	return v
}

func float[T kernels.Float](v T) float64 {
	switch v := any(v).(type) {
	case kernels.F16:
		return v.Float64()
	case kernels.BF16:
		return v.Float64()
	case float32:
		return float64(v)
	}
	return any(v).(float64)
}

// numbers returns n numbers. Special values come first.
func numbers[T kernels.Float](n int, seed uint64) []T {
	special := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 1e-7, -1e-3, 3e4, -88, 20}
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(special), func(i, j int) { special[i], special[j] = special[j], special[i] })
	list := make([]T, n)
	for i := range list {
		if list[i] = of[T](r.NormFloat64() * math.Exp2(float64(r.IntN(8)-3))); i < len(special) {
			list[i] = of[T](special[i])
		}
	}
	return list
}

// same compares numbers bit by bit. NaNs are equal.
func same[T kernels.Float](k *kit, what string, got, want []T) {
	k.Helper()
	for i := range want {
		g, w := float(got[i]), float(want[i])
		if math.Float64bits(g) != math.Float64bits(w) && (g == g || w == w) {
			k.Errorf("%s: element %d of %d is %v, want %v", what, i, len(want), g, w)
			return
		}
	}
}

// separate computes in the type in which package kernels computes T: it converts the inputs, calls
// compute with them and with memory for the result, and converts the result to T.
func separate[T kernels.Float](k *kit, compute func(c calculator), inputs ...[]T) []T {
	k.Helper()
	n := len(inputs[0])
	dst := device(k, 0, make([]T, n))
	if _, ok := any(*new(T)).(float64); ok {
		c := separately[float64]{k, nil, device(k, 0, make([]float64, n))}
		for _, in := range inputs {
			c.in = append(c.in, converted[float64](k, in))
		}
		compute(&c)
		k.run(kernels.Cast(dst, c.dst))
	} else {
		c := separately[float32]{k, nil, device(k, 0, make([]float32, n))}
		for _, in := range inputs {
			c.in = append(c.in, converted[float32](k, in))
		}
		compute(&c)
		k.run(kernels.Cast(dst, c.dst))
	}
	return host(k, dst)
}

func converted[D, S kernels.Float](k *kit, v []S) driver.View[D] {
	k.Helper()
	to := device(k, 0, make([]D, len(v)))
	k.run(kernels.Cast(to, device(k, 0, v)))
	return to
}

// calculator computes with operations of package kernels. Each method sets the result, which is also
// the first operand of the operations with two operands.
type calculator interface {
	unary(name string, x int) // of input x, or of the result if x is negative
	binary(name string, x, y int)
	scalar(name string, x int, b float64)
}

type separately[C float32 | float64] struct {
	*kit
	in  []driver.View[C]
	dst driver.View[C]
}

func (c *separately[C]) operand(i int) driver.View[C] {
	if i < 0 {
		return c.dst
	}
	return c.in[i]
}

func (c *separately[C]) unary(name string, x int) {
	c.Helper()
	c.run(map[string]func(dst, src driver.MemoryOf[C], again ...*driver.Launch) (*driver.Launch, error){
		"neg": kernels.Neg[C], "abs": kernels.Abs[C], "relu": kernels.ReLU[C], "gelu": kernels.GELU[C], "gelutanh": kernels.GELUTanh[C],
		"silu": kernels.SiLU[C], "sigmoid": kernels.Sigmoid[C], "tanh": kernels.Tanh[C], "exp": kernels.Exp[C], "log": kernels.Log[C],
		"sqrt": kernels.Sqrt[C], "rsqrt": kernels.Rsqrt[C],
	}[name](c.dst, c.operand(x)))
}

func (c *separately[C]) binary(name string, x, y int) {
	c.Helper()
	c.run(map[string]func(dst, a, b driver.MemoryOf[C], again ...*driver.Launch) (*driver.Launch, error){
		"add": kernels.Add[C], "sub": kernels.Sub[C], "mul": kernels.Mul[C], "div": kernels.Div[C],
		"max": kernels.Maximum[C], "min": kernels.Minimum[C],
	}[name](c.dst, c.operand(x), c.operand(y)))
}

func (c *separately[C]) scalar(name string, x int, b float64) {
	c.Helper()
	c.run(map[string]func(dst, a driver.MemoryOf[C], b C, again ...*driver.Launch) (*driver.Launch, error){
		"add": kernels.AddScalar[C], "sub": kernels.SubScalar[C], "mul": kernels.MulScalar[C], "div": kernels.DivScalar[C],
		"max": kernels.MaximumScalar[C], "min": kernels.MinimumScalar[C],
	}[name](c.dst, c.operand(x), C(b)))
}
