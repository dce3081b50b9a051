package kernelstest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/num"
)

func TestGemvQuantized(t *testing.T) {
	each(t, func(k *kit) {
		quantizedVectors(k, func(v float32) float32 { return v }, func(v float32) float32 { return v }, 1e-6)
		quantizedVectors(k, num.ToF16, kernels.F16.Float32, 1e-3)
		quantizedVectors(k, num.ToBF16, kernels.BF16.Float32, 1e-2)
	})
}

// With a seed, the emulator delays asynchronous copies until the kernel waits for them. The check finds
// accesses to these bytes that only happen to be late enough.
func TestQuantizedMatricesThatAreCopiedLate(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{ComputeCapability: [2]int{8, 0}, Seed: 1, Check: emulator.CheckSharedRaces}, func(t *testing.T, ctx *driver.Context) {
		quantizedVectors(newKit(t, ctx), num.ToF16, kernels.F16.Float32, 1e-3)
	})
}

// A block computes several groups of rows if the grid is small. It copies the first columns of the next rows
// before it has stored the sums of the rows before. Some warps have no columns.
func TestBlocksThatMultiplySeveralGroupsOfRows(t *testing.T) {
	check := emulator.CheckSharedRaces | emulator.CheckGlobalRaces | emulator.CheckUninitialized | emulator.CheckBarriers
	e := emulator.New(emulator.Config{ComputeCapability: [2]int{9, 0}, Seed: 1, Check: check})
	k := newKit(t, gputest.Context(t, gputest.Driver(t, e)))
	for _, shape := range [][3]int{{83, 128, 0}, {80, 1152, 384}, {65, 2304, 384}, {100, 3072, 128}, {49, 4224, 0}} {
		rows, cols, group := shape[0], shape[1], shape[2]
		groups := 1
		if group > 0 {
			groups = cols / group
		}
		data := make([]uint8, rows*cols/2)
		r := rand.New(rand.NewPCG(uint64(cols), 4))
		for i := range data {
			data[i] = uint8(r.Uint32())
		}
		y := device(k, 0, make([]kernels.BF16, rows))
		a := kernels.Quantized[kernels.BF16]{Mem: device(k, 0, data), Scales: device(k, 0, elements[kernels.BF16](random(rows*groups, 23))), Rows: rows, Cols: cols, Bits: 4, Group: group}
		op := k.made(kernels.GemvQuantized(y, a, device(k, 0, elements[kernels.BF16](random(cols, 24)))))
		var want []kernels.BF16
		for _, grid := range []int{(rows + 15) / 16, 1, 2, 3} {
			cfg := op.Config()
			cfg.Grid = driver.D1(grid)
			k.ok(op.SetConfig(cfg))
			k.ok(y.CopyFrom(slices.Repeat(elements[kernels.BF16]([]float64{math.NaN()}), rows)))
			k.run(op, nil)
			got := host(k, y)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				k.Errorf("%v: %d blocks compute something else", shape, grid)
			}
		}
	}
	for _, f := range e.Findings() {
		t.Error(f)
	}
}

// A multiprocessor gets at most 16 warps: in blocks of 4 if there are so many blocks, and otherwise in larger ones.
func TestBlocksOfLargeQuantizedMatrices(t *testing.T) {
	on(t, func(k *kit, capability [2]int) {
		if capability[0] < 8 {
			return
		}
		n, err := k.c.Device().Attribute(cu.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
		k.ok(err)
		const cols = 4096
		for _, c := range []struct{ blocks, grid, warps int }{{5*n + 1, 4 * n, 4}, {2*n + 1, 2*n + 1, 4}, {2 * n, 2 * n, 8}, {n, n, 16}, {1, 1, 16}} {
			rows := 16 * c.blocks
			a := kernels.Quantized[kernels.F16]{Mem: alloc[uint8](k, rows*cols/2), Scales: alloc[kernels.F16](k, rows), Rows: rows, Cols: cols, Bits: 4}
			cfg := k.made(kernels.GemvQuantized(alloc[kernels.F16](k, rows), a, alloc[kernels.F16](k, cols))).Config()
			if int(cfg.Grid.X) != c.grid || int(cfg.Block.X) != 32*c.warps {
				k.Errorf("%v: %v blocks of %v threads, want %+v", capability, cfg.Grid, cfg.Block, c)
			}
		}
	})
}

// quantizedVectors allows an error relative to the sum of the absolute values of the products.
func quantizedVectors[T kernels.NetFloat](k *kit, to func(float32) T, from func(T) float32, tolerance float64) {
	k.Helper()
	for i, shape := range [][3]int{{0, 32, 32}, {1, 0, 0}, {1, 32, 0}, {5, 96, 32}, {3, 4096, 128}, {33, 1056, 0}, {2, 9216, 1024}, {7, 2048, 64}, {37, 1280, 128}, {16, 128, 0}, {31, 2304, 384}, {9, 1152, 384}, {20, 1408, 0}, {18, 9600, 384}} {
		for _, bits := range []int{4, 8} {
			rows, cols, group := shape[0], shape[1], shape[2]
			if group == 0 {
				group = max(cols, 1)
			}
			r := rand.New(rand.NewPCG(uint64(cols), uint64(bits)))
			data := make([]uint8, rows*cols*bits/8)
			for i := range data {
				data[i] = uint8(r.Uint32())
			}
			scales, x := make([]T, rows*(cols/group)), make([]T, cols)
			for i := range scales {
				scales[i] = to(float32(r.Float64() + 0.5))
			}
			for i := range x {
				x[i] = to(float32(r.NormFloat64()))
			}
			skip := 1
			if i%8 == 4 { // two scales of 16 bits are an aligned word
				skip = 0
			}
			y := alloc[T](k, rows+1).View(0, rows)
			a := kernels.Quantized[T]{Mem: device(k, 0, data), Scales: device(k, skip, scales), Rows: rows, Cols: cols, Bits: bits, Group: shape[2]}
			check := func(name string, values []float64) {
				k.Helper()
				for row, got := range host(k, y) {
					want, size := 0.0, 0.0
					for c, v := range values {
						var q float64
						switch i := row*cols + c; {
						case bits == 8:
							q = float64(int8(data[i]))
						case c%2 == 0:
							q = float64(data[i/2]&15) - 8
						default:
							q = float64(data[i/2]>>4) - 8
						}
						p := q * float64(from(scales[row*(cols/group)+c/group])) * v
						want += p
						size += math.Abs(p)
					}
					if d := math.Abs(float64(from(got)) - want); !(d <= tolerance*size+tolerance*math.Abs(want)) {
						k.Fatalf("%s, %T, %v, %d bits: row %d is %v, want %v", name, got, shape, bits, row, from(got), want)
					}
				}
			}
			values := make([]float64, cols)
			for i := range x {
				values[i] = float64(from(x[i]))
			}
			on := device(k, 1, x)
			k.run(kernels.GemvQuantized(y, a, on))
			check("plain", values)
			k.run(kernels.GemvQuantized(y, a, device(k, 0, x))) // aligned, as tensor cores require
			check("aligned", values)
			k.run(kernels.GemvQuantizedRMSNorm(y, a, on, nil, 0.25))
			check("normalized", normOf(values, nil, 0.25))
			slices.Reverse(x)
			weight := slices.Clone(values)
			slices.Reverse(weight)
			k.run(kernels.GemvQuantizedRMSNorm(y, a, on, device(k, 3, x), 0.25))
			check("normalized and weighted", normOf(values, weight, 0.25))
		}
	}
}

func TestWrongGemvQuantized(t *testing.T) {
	each(t, func(k *kit) {
		data, x := alloc[uint8](k, 4096), alloc[float32](k, 4096)
		check := func(a kernels.Quantized[float32], y, x driver.MemoryOf[float32], words ...string) {
			k.Helper()
			_, err := kernels.GemvQuantized(y, a, x)
			k.refused(err, append(words, "gemv quantized")...)
		}
		a := kernels.Quantized[float32]{Mem: data, Scales: x.View(2000, 2004), Rows: 4, Cols: 64, Bits: 8}
		b := a
		b.Bits = 5
		check(b, x.View(0, 4), x.View(100, 164), "5 bits")
		b = a
		b.Cols = 60
		check(b, x.View(0, 4), x.View(100, 160), "60 columns")
		b = a
		b.Group = 48
		check(b, x.View(0, 4), x.View(100, 164), "groups of 48")
		b = a
		b.Group = 32
		check(b, x.View(0, 4), x.View(100, 164), "a.Scales has 4", "8")
		b = a
		b.Mem = data.View(1, 4096)
		check(b, x.View(0, 4), x.View(100, 164), "multiple of 16")
		b = a
		b.Mem = data.View(0, 255)
		check(b, x.View(0, 4), x.View(100, 164), "255 bytes", "256")
		check(a, x.View(0, 5), x.View(100, 164), "y has 5")
		check(a, x.View(0, 4), x.View(2, 66), "overlap")
	})
}
