package kernelstest

import (
	"io/fs"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/kernels"
)

// launched holds the parameters of a launch and its declared accesses.
type launched struct {
	kernel *driver.Kernel
	config driver.LaunchConfig
	args   string
	uses   []driver.Access
}

func launchedBy(k *kit, l *driver.Launch) launched {
	k.Helper()
	params, ok := l.Kernel().Params()
	if !ok {
		k.Fatalf("nothing is known of the parameters of %v", l.Kernel())
	}
	var args []byte
	for i, at := range unsafe.Slice(l.Block().Node.KernelParams, len(params)) {
		args = append(args, unsafe.Slice((*byte)(at), params[i].Size)...)
	}
	return launched{l.Kernel(), l.Config(), string(args), l.Uses().Accesses}
}

func (a launched) is(b launched) bool {
	return a.kernel == b.kernel && reflect.DeepEqual(a.config, b.config) && a.args == b.args && slices.Equal(a.uses, b.uses)
}

// An operation reused with other operands must equal a new operation with those operands.
func TestOperationsAreMadeAgain(t *testing.T) {
	on(t, func(k *kit, _ [2]int) {
		for _, op := range every(k) {
			first := k.made(op.make(0))
			for _, round := range []int{1, 0, 0, 1} {
				want := launchedBy(k, k.made(op.make(round)))
				l := k.made(op.make(round, first))
				if l != first {
					k.Errorf("%s: another operation was made", op.name)
				}
				if got := launchedBy(k, l); !got.is(want) {
					k.Errorf("%s, round %d:\ngot  %+v\nwant %+v", op.name, round, got, want)
				}
			}
		}
	})
}

// Every kernel must be launched by an operation for some compute capability.
func TestEveryKernelHasAnOperation(t *testing.T) {
	launched := make(map[string]bool)
	for _, c := range [][2]int{{5, 2}, {8, 0}, {9, 0}} {
		gputest.OnEmulator(t, emulator.Config{ComputeCapability: c, Multiprocessors: 1}, func(t *testing.T, ctx *driver.Context) {
			k := newKit(t, ctx)
			for _, op := range every(k) {
				launched[k.made(op.make(0)).Kernel().Name()] = true
			}
			for _, make := range sequences(k) {
				ops, err := make(0)
				k.ok(err)
				for _, op := range ops {
					launched[op.(*driver.Launch).Kernel().Name()] = true
				}
			}
		})
	}
	count := 0
	for name, text := range files(t) {
		if name == "library_gpu.ptx" { // only its functions are used: see package fused
			continue
		}
		m, err := ptx.Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, kernel := range m.Kernels() {
			count++
			if !launched[kernel.Name] {
				t.Errorf("%s: no operation launches %s", name, kernel.Name)
			}
		}
	}
	if count == 0 {
		t.Error("no kernels were found")
	}
}

// An operation of another kernel cannot be reused. The function must return a new
// operation and leave the other unchanged.
func TestOperationsOfOtherKernelsAreLeftAlone(t *testing.T) {
	each(t, func(k *kit) {
		x, y := alloc[float32](k, 64), alloc[float32](k, 64)
		wide := alloc[float64](k, 64)
		fill := k.made(kernels.Fill(x, 1))
		was := launchedBy(k, fill)
		text, err := fs.ReadFile(kernels.Texts(), "fill/fill_gpu.ptx")
		k.ok(err)
		own, err := k.c.LoadModule(text) // the module has kernels with this package's names
		k.ok(err)
		defer func() { k.ok(own.Close()) }()
		same, err := own.Kernel(fill.Kernel().Name())
		k.ok(err)
		namesake, err := same.Prepare(fill.Config(), x, uint64(x.Len()), uint32(0))
		k.ok(err)
		others := []*driver.Launch{
			k.made(kernels.Fill(x, 1, namesake)),
			k.made(kernels.Neg(x, y, fill)), k.made(kernels.Fill(wide, 1, fill)),
			k.made(kernels.Fill(x, 1, nil)), k.made(kernels.Fill(x, 1)),
		}
		for _, l := range others {
			if l == fill || l == namesake {
				k.Errorf("%v was made of the operation of another kernel", l)
			}
		}
		if got := launchedBy(k, fill); !got.is(was) {
			k.Errorf("it was %+v and is %+v", was, got)
		}
		if l, err := kernels.Add(x, x, y.View(0, 5), fill); l != nil || err == nil {
			k.Errorf("got %v, %v", l, err)
		} else {
			k.refused(err, "add", "5", "64")
		}
	})
}

// Operations whose kernels are compiled for different types, functions or divisions of rows have different kernels, which
// can have the same name. One cannot be made of the other.
func TestOperationsOfOtherVariantsAreLeftAlone(t *testing.T) {
	each(t, func(k *kit) {
		x, y := alloc[float32](k, 1<<16), alloc[float32](k, 1<<16)
		half, brain := alloc[kernels.F16](k, 64), alloc[kernels.BF16](k, 64)
		halves, brains, w := kernels.MatrixOf(half, 4, 16), kernels.MatrixOf(brain, 4, 16), workspace(k)
		long := kernels.MatrixOf(x, 1, 1<<16)
		for _, c := range []struct {
			name string
			op   *driver.Launch
			with func(op *driver.Launch) (*driver.Launch, error)
		}{
			{"another function", k.made(kernels.Add(x, x, y)), func(op *driver.Launch) (*driver.Launch, error) { return kernels.Sub(x, x, y, op) }},
			{"another function of 16 bits", k.made(kernels.Exp(half, half)), func(op *driver.Launch) (*driver.Launch, error) { return kernels.Log(half, half, op) }},
			{"another type", k.made(kernels.Softmax(halves, halves, 1)), func(op *driver.Launch) (*driver.Launch, error) { return kernels.Softmax(brains, brains, 1, op) }},
			{"another norm", k.made(kernels.RMSNorm(halves, halves, nil, eps)), func(op *driver.Launch) (*driver.Launch, error) {
				return kernels.LayerNorm(halves, halves, nil, nil, eps, op)
			}},
			{"several parts", k.made(kernels.SumRows(y.View(0, 4), kernels.MatrixOf(x, 4, 16), w)), func(op *driver.Launch) (*driver.Launch, error) {
				return kernels.SumRows(y.View(0, 1), long, w, op)
			}},
		} {
			other, err := c.with(c.op)
			k.ok(err)
			if other == c.op || other.Kernel() == c.op.Kernel() || other.Kernel().Name() != c.op.Kernel().Name() {
				k.Errorf("%s: %v and %v", c.name, c.op, other)
			}
			again, err := c.with(other)
			k.ok(err)
			if again != other {
				k.Errorf("%s: an operation of the same variant was not reused", c.name)
			}
		}
	})
}

// A scope must record the state of a reused operation at each call.
func TestAScopeRecordsAnOperationMadeAgain(t *testing.T) {
	each(t, func(k *kit) {
		x := alloc[float32](k, 4096)
		g, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) (err error) {
			var op *driver.Launch
			for i := range 4 {
				if op, err = kernels.Fill(x.View(1024*i, 4096), float32(i), op); err != nil {
					return err
				}
				if err := sc.Do(op); err != nil {
					return err
				}
			}
			return nil
		})
		k.ok(err)
		k.closeLater(g)
		e, err := g.Instantiate()
		k.ok(err)
		k.closeLater(e)
		k.ok(e.Run(t.Context(), k.s))
		compare(k, "fill", host(k, x), func(i int) float32 { return float32(i / 1024) })
	})
}

// BenchmarkAgain compares two ways to launch a kernel with different arguments each time: by
// reusing an operation, and by setting one argument of an operation. In "silent", the launch function of the driver does nothing.
func BenchmarkAgain(b *testing.B) {
	b.Run("silent", func(b *testing.B) { benchmarkWays(newKit(b, gputest.Silent(b, cu.FnCuLaunchKernel)), b) })
	b.Run("gpu", func(b *testing.B) { benchmarkWays(newKit(b, gputest.Context(b, gputest.GPU(b))), b) })
}

func benchmarkWays(k *kit, b *testing.B) {
	x, y, z := alloc[float32](k, 1<<16), alloc[float32](k, 1<<16), alloc[float32](k, 1<<16)
	way := func(name string, launch func(i int) error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := launch(i & 1); err != nil {
					b.Fatal(err)
				}
				if i%512 == 511 {
					if err := k.s.Wait(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	var op *driver.Launch
	way("fill again", func(i int) (err error) {
		if op, err = kernels.Fill(x.View(0, 4096<<i), float32(i), op); err != nil {
			return err
		}
		return k.s.Do(op)
	})
	way("fill again, same grid", func(i int) (err error) {
		if op, err = kernels.Fill(x, float32(i), op); err != nil {
			return err
		}
		return k.s.Do(op)
	})
	set := k.made(kernels.Fill(x, 1))
	value, err := driver.ArgOf[float32](set, 2)
	k.ok(err)
	way("fill argument", func(i int) error {
		if err := value.Set(float32(i)); err != nil {
			return err
		}
		return k.s.Do(set)
	})
	op = nil
	way("add again", func(i int) (err error) {
		n := 4096 << i
		if op, err = kernels.Add(x.View(0, n), y.View(0, n), z.View(0, n), op); err != nil {
			return err
		}
		return k.s.Do(op)
	})
	op = nil
	way("layer norm again", func(i int) (err error) {
		rows := 16 << i
		if op, err = kernels.LayerNorm(kernels.MatrixOf(x, rows, 64), kernels.MatrixOf(y, rows, 64), z.View(0, 64), z.View(64, 128), 1e-5, op); err != nil {
			return err
		}
		return k.s.Do(op)
	})
}
