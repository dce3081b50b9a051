package kernelstest

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

func TestArithmeticInEveryType(t *testing.T) {
	each(t, func(k *kit) {
		arithmetic[int32](k)
		arithmetic[uint32](k)
		arithmetic[int64](k)
		arithmetic[uint64](k)
		arithmetic[kernels.F16](k)
		arithmetic[kernels.BF16](k)
		arithmetic[float32](k)
		arithmetic[float64](k)
	})
}

// operands returns pairs of special values and of random numbers.
func operands[T kernels.Number]() (a, b []T) {
	special := []float64{0, 1, -1, 2, -7, 100, -math.MaxInt32 - 1, math.MaxInt32}
	if isFloat[T]() {
		special = append(special, math.NaN(), math.Inf(1), 0.3)
	}
	for _, x := range special {
		for _, y := range special {
			a, b = append(a, element[T](x)), append(b, element[T](y))
		}
	}
	scaled := random(200, 4)
	for i := range scaled {
		scaled[i] *= 50
	}
	return append(a, elements[T](scaled)...), append(b, elements[T](random(200, 5))...)
}

func isFloat[T kernels.Element]() bool {
	switch any(*new(T)).(type) {
	case float32, float64, kernels.F16, kernels.BF16:
		return true
	}
	return false
}

// reference returns the expected result. For the 16-bit types it rounds twice, as the
// kernels do.
func reference[T kernels.Number](op string, a, b T) T {
	if !isFloat[T]() {
		return whole(op, a, b)
	}
	x, y := number(a), number(b)
	var f float64
	switch op {
	case "add":
		f = x + y
	case "sub":
		f = x - y
	case "mul":
		f = x * y
	case "div":
		f = x / y
	case "max":
		f = pick(x, y, x > y)
	case "min":
		f = pick(x, y, x < y)
	}
	return element[T](f)
}

func pick(x, y float64, first bool) float64 {
	if first || y != y {
		return x
	}
	return y
}

func whole[T kernels.Number](op string, a, b T) T {
	x, y := integer(a), integer(b)
	less := x < y
	if signed[T]() {
		less = int64(x) < int64(y)
	}
	switch {
	case op == "add":
		return fromWord[T](x + y)
	case op == "sub":
		return fromWord[T](x - y)
	case op == "mul":
		return fromWord[T](x * y)
	case op == "max" && less, op == "min" && !less:
		return b
	case op == "max", op == "min":
		return a
	case y == 0:
		return fromWord[T](0)
	case signed[T]():
		return fromWord[T](uint64(int64(x) / int64(y)))
	}
	return fromWord[T](x / y)
}

func arithmetic[T kernels.Number](k *kit) {
	k.Helper()
	as, bs := operands[T]()
	type two = func(dst, a, b driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error)
	for op, f := range map[string]two{
		"add": kernels.Add[T], "sub": kernels.Sub[T], "mul": kernels.Mul[T], "div": kernels.Div[T],
		"max": kernels.Maximum[T], "min": kernels.Minimum[T],
	} {
		for _, n := range []int{len(as), 0, 1, 13} {
			for _, skip := range []int{0, 1} {
				a, b, dst := device(k, skip, as[:n]), device(k, 0, bs[:n]), device(k, 2*skip, as[:n])
				k.run(f(dst, a, b))
				compare(k, op, host(k, dst), func(i int) T { return reference(op, as[i], bs[i]) })
			}
		}
	}
	type one = func(dst, a driver.MemoryOf[T], b T, again ...*driver.Launch) (*driver.Launch, error)
	type other = func(dst driver.MemoryOf[T], b T, a driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error)
	swapped := func(f other) one {
		return func(dst, a driver.MemoryOf[T], b T, again ...*driver.Launch) (*driver.Launch, error) {
			return f(dst, b, a, again...)
		}
	}
	for op, f := range map[string]one{
		"add": kernels.AddScalar[T], "sub": kernels.SubScalar[T], "mul": kernels.MulScalar[T], "div": kernels.DivScalar[T],
		"max": kernels.MaximumScalar[T], "min": kernels.MinimumScalar[T],
		"-sub": swapped(kernels.ScalarSub[T]), "-div": swapped(kernels.ScalarDiv[T]),
	} {
		for _, v := range []float64{3, 0, -1} {
			b := element[T](v)
			a := device(k, 1, as)
			k.run(f(a, a, b))
			compare(k, op+" a number", host(k, a), func(i int) T {
				if op[0] == '-' {
					return reference(op[1:], b, as[i])
				}
				return reference(op, as[i], b)
			})
		}
	}
}

func compare[T kernels.Element](k *kit, what string, got []T, want func(i int) T) {
	k.Helper()
	for i, v := range got {
		if w := want(i); !same(v, w) {
			k.Fatalf("%s of %T: element %d of %d is %v, want %v", what, v, i, len(got), number(v), number(w))
		}
	}
}

func TestTheSecondOperandIsRepeated(t *testing.T) {
	each(t, func(k *kit) {
		repeated[int32](k)
		repeated[int64](k)
		repeated[kernels.F16](k)
		repeated[kernels.BF16](k)
		repeated[float32](k)
		repeated[float64](k)
		a, b := alloc[float32](k, 12), alloc[float32](k, 12)
		_, err := kernels.Mul(a, b, b.View(0, 5))
		k.refused(err, "mul", "5", "12")
		_, err = kernels.Mul(a, b, b.View(0, 0))
		k.refused(err, "mul", "0")
		_, err = kernels.Mul(a, a, a.View(0, 4))
		k.refused(err, "overlap")
	})
}

func repeated[T kernels.Number](k *kit) {
	k.Helper()
	for _, row := range []int{1, 3, 8, 501} {
		for _, rows := range []int{0, 1, 2, 77} {
			n := row * rows
			as, bs := elements[T](random(n, 6)), elements[T](random(row, 7))
			a := device(k, 0, as)
			for _, skip := range [][2]int{{0, 0}, {0, 1}, {3, 1}, {3, 3}} { // of dst and b
				b, dst := device(k, skip[1], bs), device(k, skip[0], make([]T, n))
				k.run(kernels.Sub(dst, a, b))
				compare(k, "sub", host(k, dst), func(i int) T { return reference("sub", as[i], bs[i%row]) })
			}
		}
	}
}
