package build_test

import (
	"context"
	"math"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/num"
)

// launch builds the module and runs its kernel k with one block.
func launch(t *testing.T, c *driver.Context, m *build.Module, threads int, args ...any) {
	t.Helper()
	module, err := c.LoadModule([]byte(text(t, m)))
	if err != nil {
		t.Fatalf("%v\n%s", err, text(t, m))
	}
	defer module.Close()
	k, err := module.Kernel("k")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := k.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(threads)}, args...); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func upload[T any](t *testing.T, c *driver.Context, v []T) *driver.Buffer[T] {
	t.Helper()
	b, err := driver.AllocFrom(c, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func download[T any](t *testing.T, b *driver.Buffer[T], n int) []T {
	t.Helper()
	out := make([]T, n)
	if err := b.All().CopyTo(out); err != nil {
		t.Fatal(err)
	}
	return out
}

// op is an operation on values in a kernel, and the same operation in Go.
type op[T build.Number] struct {
	name   string
	device func(x, y build.Value[T]) build.Value[T]
	host   func(x, y T) T
}

// compare runs the operations on all pairs of inputs and compares the results bit by bit. All NaNs
// are considered equal.
func compare[T build.Number](t *testing.T, c *driver.Context, inputs []T, ops []op[T]) {
	t.Helper()
	m := build.New(build.Config{})
	k := m.Kernel("k")
	out := build.PointerParam[T](k, "out")
	in := build.PointerParam[T](k, "in")
	n := build.NumberParam[uint32](k, "n")
	i := k.GlobalX()
	count := build.Const(k, uint32(len(ops)))
	build.For(k, build.Const(k, uint32(0)), n, build.Const(k, uint32(1)), func(j build.Value[uint32]) {
		x, y := in.Load(i), in.Load(j)
		at := i.MulAdd(n, j).Mul(count)
		for number, o := range ops {
			out.Store(at.Add(build.Const(k, uint32(number))), o.device(x, y))
		}
	})
	from := upload(t, c, inputs)
	to := upload(t, c, make([]T, len(inputs)*len(inputs)*len(ops)))
	launch(t, c, m, len(inputs), to, from, uint32(len(inputs)))
	got := download(t, to, len(inputs)*len(inputs)*len(ops))
	for a, x := range inputs {
		for b, y := range inputs {
			for number, o := range ops {
				g, want := got[(a*len(inputs)+b)*len(ops)+number], o.host(x, y)
				if g != want && (g == g || want == want) && !(isNaN(g) && isNaN(want)) || signbit(g) != signbit(want) && !isNaN(g) {
					t.Errorf("%s(%v, %v) = %v, want %v", o.name, x, y, g, want)
				}
			}
		}
	}
}

func isNaN[T build.Number](v T) bool {
	switch v := any(v).(type) {
	case num.F16:
		return num.IsNaN(v)
	case num.BF16:
		return num.IsNaN(v)
	}
	return v != v
}

func signbit[T build.Number](v T) bool {
	switch v := any(v).(type) {
	case float32:
		return math.Signbit(float64(v))
	case float64:
		return math.Signbit(v)
	}
	return false
}

type floating interface {
	num.F16 | num.BF16 | float32 | float64
}

// floatOps returns operations for all floating-point types. Host and device round them in the same
// way.
func floatOps[T floating]() []op[T] {
	type v = build.Value[T]
	pick := func(cond func(x, y v) build.Value[bool]) func(x, y v) v {
		return func(x, y v) v { return build.Select(cond(x, y), x, y) }
	}
	choose := func(cond func(x, y T) bool) func(x, y T) T {
		return func(x, y T) T {
			if cond(x, y) {
				return x
			}
			return y
		}
	}
	return []op[T]{
		{"add", v.Add, num.Add[T]},
		{"sub", v.Sub, num.Sub[T]},
		{"mul", v.Mul, num.Mul[T]},
		{"muladd", func(x, y v) v { return x.MulAdd(y, y) }, func(x, y T) T { return num.FMA(x, y, y) }},
		{"min", v.Min, num.Min[T]},
		{"max", v.Max, num.Max[T]},
		{"neg", func(x, _ v) v { return x.Neg() }, func(x, _ T) T { return num.Neg(x) }},
		{"abs", func(x, _ v) v { return x.Abs() }, func(x, _ T) T { return num.Abs(x) }},
		{"lt", pick(v.Lt), choose(num.Less[T])},
		{"le", pick(v.Le), choose(num.LessEqual[T])},
		{"gt", pick(v.Gt), choose(func(x, y T) bool { return num.Less(y, x) })},
		{"ge", pick(v.Ge), choose(func(x, y T) bool { return num.LessEqual(y, x) })},
		{"eq", pick(v.Eq), choose(num.Equal[T])},
		{"ne", pick(v.Ne), choose(func(x, y T) bool { return !num.Equal(x, y) })},
	}
}

// wideOps returns operations that exist only for f32 and f64.
func wideOps[T float32 | float64]() []op[T] {
	type v = build.Value[T]
	return []op[T]{
		{"div", v.Div, func(x, y T) T { return x / y }},
		{"sqrt", func(x, _ v) v { return x.Sqrt() }, func(x, _ T) T { return T(math.Sqrt(float64(x))) }},
		{"apply", func(x, y v) v { return x.Add(y).Apply("neg." + ptxName(x)) }, func(x, y T) T { return -(x + y) }},
	}
}

func ptxName[T build.Number](build.Value[T]) string {
	if _, ok := any(*new(T)).(float32); ok {
		return "f32"
	}
	return "f64"
}

type integer interface {
	int32 | uint32 | int64 | uint64
}

func integerOps[T integer]() []op[T] {
	type v = build.Value[T]
	low := func(x v) build.Value[uint32] { return build.Convert[uint32](x).And(build.Const(x.Func(), uint32(7))) }
	return []op[T]{
		{"add", v.Add, func(x, y T) T { return x + y }},
		{"sub", v.Sub, func(x, y T) T { return x - y }},
		{"mul", v.Mul, func(x, y T) T { return x * y }},
		{"muladd", func(x, y v) v { return x.MulAdd(y, x) }, func(x, y T) T { return x*y + x }},
		{"min", v.Min, func(x, y T) T { return min(x, y) }},
		{"max", v.Max, func(x, y T) T { return max(x, y) }},
		{"and", v.And, func(x, y T) T { return x & y }},
		{"or", v.Or, func(x, y T) T { return x | y }},
		{"xor", v.Xor, func(x, y T) T { return x ^ y }},
		{"not", func(x, _ v) v { return x.Not() }, func(x, _ T) T { return ^x }},
		{"shl", func(x, y v) v { return x.Shl(low(y)) }, func(x, y T) T { return x << (uint32(y) & 7) }},
		{"shr", func(x, y v) v { return x.Shr(low(y)) }, func(x, y T) T { return x >> (uint32(y) & 7) }},
		{"select", func(x, y v) v {
			return build.Select(x.Lt(y).Or(x.Eq(y)).And(x.Ne(build.Const(x.Func(), T(3)))), x, y)
		}, func(x, y T) T {
			if (x < y || x == y) && x != 3 {
				return x
			}
			return y
		}},
		{"not of a predicate", func(x, y v) v { return build.Select(x.Ge(y).Not(), x, y) }, func(x, y T) T { return min(x, y) }},
	}
}

func integers[T integer]() []T {
	var zero T
	all := []T{0, 1, 2, 3, 7, 100, zero - 1, zero - 2, ^zero / 2}
	return append(all, all[8]+1, all[8]*3)
}

func floats[T floating]() []T {
	var out []T
	for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 3, -2.5, 1e-4, 60000, math.Inf(1), math.NaN(), 0x1p-24} {
		out = append(out, num.To[T](v))
	}
	return out
}

// The methods of Value must return the same results as Go and package num.
func TestValues(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		compare(t, c, integers[int32](), append(integerOps[int32](), signedOps[int32]()...))
		compare(t, c, integers[uint32](), integerOps[uint32]())
		compare(t, c, integers[int64](), append(integerOps[int64](), signedOps[int64]()...))
		compare(t, c, integers[uint64](), integerOps[uint64]())
		compare(t, c, floats[float32](), append(floatOps[float32](), wideOps[float32]()...))
		compare(t, c, floats[float64](), append(floatOps[float64](), wideOps[float64]()...))
		compare(t, c, floats[num.F16](), floatOps[num.F16]())
		compare(t, c, floats[num.BF16](), floatOps[num.BF16]())
	})
}

func signedOps[T int32 | int64]() []op[T] {
	type v = build.Value[T]
	return []op[T]{
		{"neg", func(x, _ v) v { return x.Neg() }, func(x, _ T) T { return -x }},
		{"abs", func(x, _ v) v { return x.Abs() }, func(x, _ T) T { return max(x, -x) }},
		{"div", func(x, y v) v { return x.Div(y.Or(build.Const(y.Func(), T(1)))) }, func(x, y T) T { return x / (y | 1) }},
		{"rem", func(x, y v) v { return x.Rem(y.Or(build.Const(y.Func(), T(1)))) }, func(x, y T) T { return x % (y | 1) }},
	}
}

// convert compares the results of conversions with the results of the function host.
func convert[To, From build.Number](t *testing.T, c *driver.Context, inputs []From, host func(v From) To) {
	t.Helper()
	m := build.New(build.Config{})
	k := m.Kernel("k")
	out, in := build.PointerParam[To](k, "out"), build.PointerParam[From](k, "in")
	i := k.GlobalX()
	out.Store(i, build.Convert[To](in.Load(i)))
	to := upload(t, c, make([]To, len(inputs)))
	launch(t, c, m, len(inputs), to, upload(t, c, inputs))
	for i, got := range download(t, to, len(inputs)) {
		if want := host(inputs[i]); got != want && !(isNaN(got) && isNaN(want)) {
			t.Errorf("%T(%v) = %v, want %v", got, inputs[i], got, want)
		}
	}
}

// Convert must round once, sign-extend signed integers, and saturate.
func TestConvert(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		ints := []int32{0, 1, -1, 257, -70000, 1<<24 + 1, math.MaxInt32, math.MinInt32, 0x7fffff81}
		convert(t, c, ints, func(v int32) uint32 { return uint32(v) })
		convert(t, c, ints, func(v int32) uint64 { return uint64(v) })
		convert(t, c, ints, func(v int32) int64 { return int64(v) })
		convert(t, c, ints, func(v int32) float32 { return float32(v) })
		convert(t, c, ints, func(v int32) float64 { return float64(v) })
		convert(t, c, ints, func(v int32) num.F16 { return num.To[num.F16](float64(v)) })
		convert(t, c, ints, func(v int32) num.BF16 { return num.To[num.BF16](float64(v)) })
		convert(t, c, []uint64{0, 1 << 40, 1<<32 + 5, 1<<64 - 1}, func(v uint64) uint32 { return uint32(v) })
		convert(t, c, []uint32{0, 1 << 31, 1<<32 - 1}, func(v uint32) int64 { return int64(v) })

		wide := []float64{0, 1.5, -1.5, 1e10, -1e10, 1e300, math.Inf(-1), 1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-11 + 0x1p-40}
		convert(t, c, wide, func(v float64) float32 { return float32(v) })
		convert(t, c, wide, func(v float64) num.F16 { return num.To[num.F16](v) })
		convert(t, c, wide, func(v float64) num.BF16 { return num.To[num.BF16](v) })
		convert(t, c, wide, func(v float64) int32 { return int32(math.Max(math.MinInt32, math.Min(math.MaxInt32, math.Trunc(v)))) })
		convert(t, c, wide, func(v float64) uint32 { return uint32(math.Max(0, math.Min(math.MaxUint32, math.Trunc(v)))) })

		halves, brains := floats[num.F16](), floats[num.BF16]()
		convert(t, c, halves, func(v num.F16) float32 { return num.To[float32](v) })
		convert(t, c, halves, func(v num.F16) num.BF16 { return num.To[num.BF16](v) })
		convert(t, c, brains, func(v num.BF16) float32 { return num.To[float32](v) })
		convert(t, c, brains, func(v num.BF16) float64 { return num.To[float64](v) })
		convert(t, c, brains, func(v num.BF16) num.F16 { return num.To[num.F16](v) })
	})
}

// A kernel with loops, branches and shared memory must compute what the same Go code computes.
func TestControlFlow(t *testing.T) {
	const threads = 64
	m := build.New(build.Config{})
	k := m.Kernel("k").ReqNTID(threads, 1, 1)
	out := build.PointerParam[uint32](k, "out")
	constant := func(v uint32) build.Value[uint32] { return build.Const(k, v) }
	i := build.ReadSpecial(k, build.TidX)
	tile := build.SharedArray[uint32](k, "tile", threads)
	sum := build.Mutable(constant(0))
	build.For(k, constant(0), i, constant(3), func(j build.Value[uint32]) {
		k.IfElse(j.And(constant(1)).Eq(constant(0)),
			func() { sum.Set(sum.Add(j)) },
			func() { sum.Set(sum.Mul(constant(3)).Add(constant(1))) })
	})
	tile.Store(i, sum)
	k.Barrier()
	n := build.Mutable(tile.Load(constant(threads - 1).Sub(i)))
	steps := build.Mutable(constant(0))
	k.While(func() build.Value[bool] { return n.Gt(constant(1)) }, func() {
		n.Set(build.Select(n.And(constant(1)).Eq(constant(0)), n.Shr(constant(1)), n.Sub(constant(1))))
		steps.Set(steps.Add(constant(1)))
	})
	flag := build.Const(k, true)
	k.If(flag.And(steps.Ne(constant(0))), func() { out.Store(i, steps.Add(tile.Load(constant(5)))) })

	host := func(i uint32) (sum uint32) {
		for j := uint32(0); j < i; j += 3 {
			if j&1 == 0 {
				sum += j
			} else {
				sum = sum*3 + 1
			}
		}
		return sum
	}
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		to := upload(t, c, make([]uint32, threads))
		launch(t, c, m, threads, to)
		for i, got := range download(t, to, threads) {
			steps, want := uint32(0), uint32(0)
			for n := host(threads - 1 - uint32(i)); n > 1; steps++ {
				if n&1 == 0 {
					n >>= 1
				} else {
					n--
				}
			}
			if steps != 0 {
				want = steps + host(5)
			}
			if got != want {
				t.Errorf("thread %d: %d, want %d", i, got, want)
			}
		}
	})
}

// Calls must pass scalars and arrays, directly and through a register, and return results. A branch
// table must jump to its labels.
func TestCallsAndBranchTables(t *testing.T) {
	m := build.New(build.Config{})
	k, f := m.Kernel("k"), m.Func("f")
	pf, pv := f.Param("scale", ptx.B32), f.Param("v", ptx.B64).Array(2)
	result := f.Result("r", ptx.B64).Array(2)
	s, v := f.Reg(ptx.B32), f.Regs(ptx.B64, 2)
	f.Op("ld.param.b32", s, pf.At(0))
	for i, r := range v {
		f.Op("ld.param.b64", r, pv.At(int64(8*i)))
		f.Op("mad.wide.u32", r, s, build.Int(int64(i+1)), r)
	}
	f.Op("st.param.v2.b64", result.At(0), build.VecOf(v...))
	f.Ret()

	out := build.PointerParam[uint64](k, "out")
	r, a, tid := k.Regs(ptx.B64, 2), k.Reg(ptx.B64), build.ReadSpecial(k, build.TidX)
	direct, through, end := k.NewLabel("direct"), k.NewLabel("through"), k.NewLabel("end")
	k.Op("brx.idx", tid, k.BranchTable(direct, through))
	k.Place(direct)
	k.Call(f, r, build.Int(10), build.Vec(build.Const(k, uint64(1)).Reg(), build.Int(2)))
	k.Bra(end)
	k.Place(through)
	k.Op("mov.u64", a, f)
	k.CallThrough(a, f, r, build.Int(20), build.Vec(build.Int(3), build.Int(4)))
	k.Place(end)
	at := tid.Mul(build.Const(k, uint32(2)))
	out.Store(at, build.Of[uint64](k, r[0]))
	out.Store(at.Add(build.Const(k, uint32(1))), build.Of[uint64](k, r[1]))
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		to := upload(t, c, make([]uint64, 4))
		launch(t, c, m, 2, to)
		got := download(t, to, 4)
		for i, want := range []uint64{11, 22, 23, 44} {
			if got[i] != want {
				t.Errorf("result %d is %d, want %d", i, got[i], want)
			}
		}
	})
}

// Indices must be sign- or zero-extended according to their integer type, and constant indices must
// become offsets.
func TestIndices(t *testing.T) {
	m := build.New(build.Config{})
	k := m.Kernel("k")
	base := build.PointerParam[uint64](k, "out")
	minus := build.NumberParam[int32](k, "minus")
	out := base.From(build.Const(k, uint32(8)))
	out.Store(minus, build.Const(k, uint64(1)))
	out.Store(build.Convert[int64](minus.Add(minus)), build.Const(k, uint64(2)))
	out.Store(build.Convert[uint32](minus.Neg()), build.Const(k, uint64(3)))
	out.Store(build.Const(k, int32(-4)), build.Const(k, uint64(4)))
	out.Store(build.Const(k, uint64(5)), build.Const(k, uint64(5)))
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		to := upload(t, c, make([]uint64, 16))
		launch(t, c, m, 1, to, int32(-1))
		want := [16]uint64{7: 1, 6: 2, 9: 3, 4: 4, 13: 5}
		if got := [16]uint64(download(t, to, 16)); got != want {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	})
}
