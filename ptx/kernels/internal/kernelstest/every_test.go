package kernelstest

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

// operation names a kind of operation. make creates it with the operands of round 0 or 1. The
// operands of the two rounds differ in addresses, lengths and numbers.
type operation struct {
	name string
	make func(round int, again ...*driver.Launch) (*driver.Launch, error)
}

// every returns an operation for every kernel that the device supports. Operands are
// views created for the call.
func every(k *kit) []operation {
	k.Helper()
	e := &everything{kit: k, work: workspace(k)}
	t := &e.types
	t.u8 = threeOf[uint8](e, "u8")
	t.i8 = threeOf[int8](e, "i8")
	t.u16 = threeOf[uint16](e, "u16")
	t.i16 = threeOf[int16](e, "i16")
	t.u32 = threeOf[uint32](e, "u32")
	t.i32 = threeOf[int32](e, "i32")
	t.u64 = threeOf[uint64](e, "u64")
	t.i64 = threeOf[int64](e, "i64")
	t.f16 = threeOf[kernels.F16](e, "f16")
	t.bf16 = threeOf[kernels.BF16](e, "bf16")
	t.f32 = threeOf[float32](e, "f32")
	t.f64 = threeOf[float64](e, "f64")
	elementsOps(e, t.u8)
	elementsOps(e, t.i8)
	elementsOps(e, t.u16)
	elementsOps(e, t.i16)
	elementsOps(e, t.u32)
	elementsOps(e, t.i32)
	elementsOps(e, t.u64)
	elementsOps(e, t.i64)
	elementsOps(e, t.f16)
	elementsOps(e, t.bf16)
	elementsOps(e, t.f32)
	elementsOps(e, t.f64)
	numbersOps(e, t.u32)
	numbersOps(e, t.i32)
	numbersOps(e, t.u64)
	numbersOps(e, t.i64)
	numbersOps(e, t.f16)
	numbersOps(e, t.bf16)
	numbersOps(e, t.f32)
	numbersOps(e, t.f64)
	floatsOps(e, t.f16)
	floatsOps(e, t.bf16)
	floatsOps(e, t.f32)
	floatsOps(e, t.f64)
	netsOps(e, t.f16)
	netsOps(e, t.bf16)
	netsOps(e, t.f32)
	convOps(e, t.f16)
	convOps(e, t.bf16)
	convOps(e, t.f32)
	castOps(e, t.u8)
	castOps(e, t.i8)
	castOps(e, t.u16)
	castOps(e, t.i16)
	castOps(e, t.u32)
	castOps(e, t.i32)
	castOps(e, t.u64)
	castOps(e, t.i64)
	castOps(e, t.f16)
	castOps(e, t.bf16)
	castOps(e, t.f32)
	castOps(e, t.f64)
	orderedOps(e, t.f32)
	orderedOps(e, t.f16)
	orderedOps(e, t.bf16)
	orderedOps(e, t.f64)
	orderedOps(e, t.i32)
	orderedOps(e, t.i64)
	sumOps(e, t.f32, t.f32)
	sumOps(e, t.f32, t.f16)
	sumOps(e, t.f32, t.bf16)
	sumOps(e, t.f64, t.f64)
	sumOps(e, t.f64, t.f32)
	sumOps(e, t.i64, t.i32)
	sumOps(e, t.i64, t.i64)
	sumOps(e, t.u64, t.u32)
	sumOps(e, t.u64, t.u64)
	gemvOps(e, t.f32, t.f32)
	gemvOps(e, t.f16, t.f16)
	gemvOps(e, t.f32, t.f16)
	gemvOps(e, t.bf16, t.bf16)
	gemvOps(e, t.f32, t.bf16)
	e.add("Gather int32", func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.Gather(t.f32.x(i, 4*many(i)), t.f32.y(i, 4*64), t.i32.x(i, many(i)), 4, again...)
	})
	e.add("Gather int64", func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.Gather(t.f32.x(i, 4*many(i)), t.f32.y(i, 4*64), t.i64.x(i, many(i)), 4, again...)
	})
	histogramOps(e, t.u8)
	histogramOps(e, t.i32)
	histogramOps(e, t.u32)
	histogramOps(e, t.i64)
	e.add("RandomBits", func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.RandomBits(t.u32.x(i, many(i)), uint64(i), uint64(4*i), again...)
	})
	e.add("Gemm", func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.Gemm(kernels.MatrixOf(t.f32.x(i, 512*(i+1)), 8*(i+1), 64), kernels.MatrixOf(t.f32.y(i, 64*(i+1)), 8*(i+1), 8), kernels.MatrixOf(t.f32.z(i, 8*64), 8, 64), 1, float32(i), 0, again...)
	})
	quantizedOps(e, t.f32)
	quantizedOps(e, t.f16)
	quantizedOps(e, t.bf16)
	randomOps(e, t.f32)
	randomOps(e, t.f64)
	layouts := [2]kernels.Layout{kernels.RowMajor(16, 64), kernels.RowMajor(32, 64)}
	turned := [2]kernels.Layout{kernels.RowMajor(64, 16).Permute(1, 0), kernels.RowMajor(64, 32).Permute(1, 0)}
	shapes := [2][]int{{16, 64}, {32, 64}}
	e.add("StridedCopy", func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.StridedCopy(t.f32.x(i, 32*64), layouts[i], t.f32.y(i, 32*64), turned[i], shapes[i], again...)
	})
	return e.all
}

type everything struct {
	*kit
	work  *kernels.Workspace
	all   []operation
	types struct {
		u8   three[uint8]
		i8   three[int8]
		u16  three[uint16]
		i16  three[int16]
		u32  three[uint32]
		i32  three[int32]
		u64  three[uint64]
		i64  three[int64]
		f16  three[kernels.F16]
		bf16 three[kernels.BF16]
		f32  three[float32]
		f64  three[float64]
	}
}

func (e *everything) add(name string, make func(round int, again ...*driver.Launch) (*driver.Launch, error)) {
	e.all = append(e.all, operation{name, make})
}

// room is the maximum number of elements of each operand.
const room = 40 << 10

func many(round int) int { return 512 << (2 * round) }

// three holds three buffers. An operation has one operand in each buffer.
type three[T kernels.Element] struct {
	name string
	bufs [3]*driver.Buffer[T]
	made map[part]driver.MemoryOf[T]
}

// part identifies a view of one of the three buffers. The view is created once, so that
// tests count only the operation's own allocations.
type part struct{ buf, round, n int }

func threeOf[T kernels.Element](e *everything, name string) three[T] {
	return three[T]{
		name,
		[3]*driver.Buffer[T]{alloc[T](e.kit, room), alloc[T](e.kit, room), alloc[T](e.kit, room)},
		make(map[part]driver.MemoryOf[T]),
	}
}

func (m three[T]) view(p part) driver.MemoryOf[T] {
	v, ok := m.made[p]
	if !ok {
		v = m.bufs[p.buf].View(32*p.round, 32*p.round+p.n)
		m.made[p] = v
	}
	return v
}

func (m three[T]) x(round, n int) driver.MemoryOf[T] { return m.view(part{0, round, n}) }
func (m three[T]) y(round, n int) driver.MemoryOf[T] { return m.view(part{1, round, n}) }
func (m three[T]) z(round, n int) driver.MemoryOf[T] { return m.view(part{2, round, n}) }

func numbersOps[T kernels.Number](e *everything, m three[T]) {
	v := [2]T{element[T](3), element[T](5)}
	type two = func(dst, a, b driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error)
	for name, f := range map[string]two{
		"Add": kernels.Add[T], "Sub": kernels.Sub[T], "Mul": kernels.Mul[T], "Div": kernels.Div[T],
		"Maximum": kernels.Maximum[T], "Minimum": kernels.Minimum[T],
	} {
		e.add(name+" "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
			n := many(i)
			return f(m.x(i, n), m.y(i, n), m.z(i, n), again...)
		})
	}
	type one = func(dst, a driver.MemoryOf[T], b T, again ...*driver.Launch) (*driver.Launch, error)
	for name, f := range map[string]one{
		"AddScalar": kernels.AddScalar[T], "SubScalar": kernels.SubScalar[T], "MulScalar": kernels.MulScalar[T],
		"DivScalar": kernels.DivScalar[T], "MaximumScalar": kernels.MaximumScalar[T], "MinimumScalar": kernels.MinimumScalar[T],
	} {
		e.add(name+" "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
			return f(m.x(i, many(i)), m.y(i, many(i)), v[i], again...)
		})
	}
	e.add("ScalarSub "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.ScalarSub(m.x(i, many(i)), v[i], m.y(i, many(i)), again...)
	})
	e.add("ScalarDiv "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.ScalarDiv(m.x(i, many(i)), v[i], m.y(i, many(i)), again...)
	})
}

func floatsOps[T kernels.Float](e *everything, m three[T]) {
	for _, f := range functions[T]() {
		e.add(f.name+" "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
			return f.make(m.x(i, many(i)), m.y(i, many(i)), again...)
		})
	}
	v := [2]T{element[T](3), element[T](5)}
	e.add("Axpy "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.Axpy(m.x(i, many(i)), v[i], m.y(i, many(i)), again...)
	})
}

// netsOps adds each operation with short and with long rows, which use different kernels, and with rows of one
// column, of which there are enough for a third one if the device has one multiprocessor.
func netsOps[T kernels.NetFloat](e *everything, m three[T]) {
	for name, cols := range map[string]int{"": 64, " of long rows": 20 << 10, " of one column": 1} {
		e.add("Softmax "+m.name+name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
			return kernels.Softmax(someRows(m, 0, i, cols), someRows(m, 1, i, cols), float32(i+1), again...)
		})
		e.add("RMSNorm "+m.name+name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
			return kernels.RMSNorm(someRows(m, 0, i, cols), someRows(m, 1, i, cols), m.z(i, cols), float32(i+1), again...)
		})
		e.add("LayerNorm "+m.name+name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
			return kernels.LayerNorm(someRows(m, 0, i, cols), someRows(m, 1, i, cols), m.z(i, cols), nil, float32(i+1), again...)
		})
	}
	e.add("Rope "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		tokens := 8 << i
		dst := kernels.Heads[T]{Mem: m.x(i, tokens*256), Tokens: tokens, Heads: 4, Dim: 64}
		src := kernels.Heads[T]{Mem: m.y(i, tokens*256), Tokens: tokens, Heads: 4, Dim: 64}
		return kernels.Rope(dst, src, e.types.i32.x(i, tokens), e.types.f32.z(i, 32), kernels.Pairing(i), again...)
	})
}

// convOps adds convolutions with many filters and with one for each channel, which use different kernels.
func convOps[T kernels.NetFloat](e *everything, m three[T]) {
	for name, groups := range map[string]int{"": 1, " depthwise": 16} {
		images := func(i, buf, batch, channels, width int) kernels.Images[T] {
			mem := m.view(part{buf, i, batch * channels * 8 * width})
			return kernels.Images[T]{Mem: mem, Batch: batch, Channels: channels, Height: 8, Width: width}
		}
		filters := func(i int) kernels.Images[T] {
			return kernels.Images[T]{Mem: m.z(i, 16*16/groups*9), Batch: 16, Channels: 16 / groups, Height: 3, Width: 3}
		}
		e.add("Conv2D "+m.name+name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
			a := kernels.Axis{Padding: 1}
			return kernels.Conv2D(images(i, 0, i+1, 16, 6), images(i, 1, i+1, 16, 6), filters(i), m.z(1-i, 16), a, a, again...)
		})
	}
	e.add("Conv1D "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		images := func(mem driver.MemoryOf[T], batch, channels, width int) kernels.Images[T] {
			return kernels.Images[T]{Mem: mem, Batch: batch, Channels: channels, Width: width}
		}
		return kernels.Conv1D(images(m.x(i, 1<<i*16*10), 1<<i, 16, 10), images(m.y(i, 1<<i*4*25), 1<<i, 4, 25), images(m.z(i, 16*4*7), 16, 4, 7), nil, kernels.Axis{Stride: 2}, again...)
	})
}

// someRows returns a matrix with as many rows as the round's elements fill, but at least one.
func someRows[T kernels.Element](m three[T], buf, round, cols int) kernels.Matrix[T] {
	rows := max(many(round)/cols, 1)
	return kernels.MatrixOf(m.view(part{buf, round, rows * cols}), rows, cols)
}

func elementsOps[T kernels.Element](e *everything, m three[T]) {
	v := [2]T{element[T](3), element[T](5)}
	e.add("Fill "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.Fill(m.x(i, many(i)), v[i], again...)
	})
	e.add("Iota "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.Iota(m.x(i, many(i)), v[i], v[1-i], again...)
	})
	e.add("Transpose "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.Transpose(m.x(i, many(i)), m.y(i, many(i)), 1, 16, many(i)/16, again...)
	})
}

func orderedOps[T kernels.Ordered](e *everything, m three[T]) {
	e.add("MaxRows "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.MaxRows(m.z(i, many(i)/64), someRows(m, 1, i, 64), nil, again...)
	})
	e.add("Min "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.Min(m.z(i, 1), m.x(i, 20000*(i+1)), e.work, again...)
	})
	e.add("Argmax "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.Argmax(e.types.i64.z(i, 1), m.x(i, many(i)), e.work, again...)
	})
}

func sumOps[S kernels.Accumulator, T kernels.Element](e *everything, dst three[S], src three[T]) {
	e.add("Sum "+src.name+" "+dst.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.Sum(dst.z(i, 1), src.x(i, 20000*(i+1)), e.work, again...)
	})
}

func histogramOps[T uint8 | int32 | uint32 | int64](e *everything, m three[T]) {
	for name, bins := range map[string]int{"": 256, " with many counters": 20000} {
		e.add("Histogram "+m.name+name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
			return kernels.Histogram(e.types.u32.z(i, bins), m.x(i, many(i)), again...)
		})
	}
}

func quantizedOps[T kernels.NetFloat](e *everything, m three[T]) {
	for name, bits := range map[string]int{" 4": 4, " 8": 8} {
		e.add("GemvQuantized "+m.name+name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
			rows := many(i) / 64
			a := kernels.Quantized[T]{Mem: e.types.u8.x(i, rows*64*bits/8), Scales: m.z(i, rows), Rows: rows, Cols: 64, Bits: bits}
			return kernels.GemvQuantized(m.x(i, rows), a, m.y(i, 64), again...)
		})
		e.add("GemvQuantized of long rows "+m.name+name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
			rows := many(i) / 128
			a := kernels.Quantized[T]{Mem: e.types.u8.x(i, rows*128*bits/8), Scales: m.z(i, rows), Rows: rows, Cols: 128, Bits: bits}
			return kernels.GemvQuantized(m.x(i, rows), a, m.y(i, 128), again...)
		})
		e.add("GemvQuantizedRMSNorm "+m.name+name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
			rows := many(i) / 64
			a := kernels.Quantized[T]{Mem: e.types.u8.x(i, rows*64*bits/8), Scales: m.z(i, rows), Rows: rows, Cols: 64, Bits: bits}
			return kernels.GemvQuantizedRMSNorm(m.x(i, rows), a, m.y(i, 64), m.y(1-i, 64), float32(i), again...)
		})
	}
}

func randomOps[T float32 | float64](e *everything, m three[T]) {
	e.add("RandomUniform "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.RandomUniform(m.x(i, many(i)), uint64(i), uint64(3*i), again...)
	})
	e.add("RandomNormal "+m.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.RandomNormal(m.x(i, many(i)), uint64(i), uint64(3*i), again...)
	})
}

func gemvOps[X, A kernels.NetFloat](e *everything, x three[X], a three[A]) {
	e.add("Gemv "+a.name+" "+x.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.Gemv(x.z(i, many(i)/64), someRows(a, 0, i, 64), x.y(i, 64), again...)
	})
	e.add("GemvRMSNorm "+a.name+" "+x.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.GemvRMSNorm(x.z(i, many(i)/64), someRows(a, 0, i, 64), x.y(i, 64), x.y(1-i, 64), float32(i), again...)
	})
}

func castOps[S kernels.Element](e *everything, src three[S]) {
	t := &e.types
	castOp(e, t.u8, src)
	castOp(e, t.i8, src)
	castOp(e, t.u16, src)
	castOp(e, t.i16, src)
	castOp(e, t.u32, src)
	castOp(e, t.i32, src)
	castOp(e, t.u64, src)
	castOp(e, t.i64, src)
	castOp(e, t.f16, src)
	castOp(e, t.bf16, src)
	castOp(e, t.f32, src)
	castOp(e, t.f64, src)
}

func castOp[D, S kernels.Element](e *everything, dst three[D], src three[S]) {
	e.add("Cast "+src.name+" "+dst.name, func(i int, again ...*driver.Launch) (*driver.Launch, error) {
		return kernels.Cast(dst.x(i, many(i)), src.y(i, many(i)), again...)
	})
}
