package kernels_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx"
)

// What ptx2go makes of the texts launches by driver.Calls: every kernel does so
// with the arguments it declares, all of them 0.
func TestEveryKernelIsLaunchedByACall(t *testing.T) {
	each(t, func(k *kit) {
		memory := alloc[uint8](k, 1024).All()
		k.eachKernel(func(f *driver.Kernel) {
			k.ok(launchedBy(k, f, memory)())
		})
		k.ok(k.s.Wait(t.Context()))
	})
}

func TestNoCallAllocates(t *testing.T) {
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		memory := alloc[uint8](k, 1024).All()
		k.eachKernel(func(f *driver.Kernel) {
			call := launchedBy(k, f, memory)
			k.ok(call())
			k.ok(k.s.Wait(t.Context()))
			if n := testing.AllocsPerRun(10, func() { k.ok(call()) }); n != 0 {
				t.Errorf("%v: %v allocations", f, n)
			}
		})
		k.ok(k.s.Wait(t.Context()))
	})
}

// eachKernel loads every text of this half and calls f with its kernels.
func (k *kit) eachKernel(f func(*driver.Kernel)) {
	k.Helper()
	for _, file := range elementwiseTexts {
		text, err := texts.ReadFile(file + ".ptx")
		k.ok(err)
		m, err := k.c.LoadModule(text)
		k.ok(err)
		k.closeLater(m)
		parsed, err := ptx.Parse(file, text)
		k.ok(err)
		for _, fn := range parsed.Kernels() {
			kernel, err := m.Kernel(fn.Name)
			k.ok(err)
			f(kernel)
		}
	}
}

var elementwiseTexts = strings.Fields("fill iota axpy gather strided transpose cast_f16 cast_bf16 cast_f32 cast_f64 cast_int " +
	"arith_f16 arith_bf16 arith_f32 arith_f64 arith_i32 arith_u32 arith_i64 arith_u64 unary_f16 unary_bf16 unary_f32 unary_f64")

// launchedBy returns what launches a kernel, as a generated launcher does.
func launchedBy(k *kit, f *driver.Kernel, memory driver.View[uint8]) func() error {
	k.Helper()
	params, _ := f.Params()
	modes := make([]driver.AccessMode, len(params))
	for i, p := range params {
		if p.Pointer {
			modes[i] = driver.ReadsWrites
		}
	}
	calls, err := driver.NewCalls(f, modes...)
	k.ok(err)
	cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(256)}
	return func() error {
		call := calls.Begin(cfg)
		for i, p := range params {
			pass(call, i, p, memory)
		}
		return call.Do(k.s)
	}
}

func pass(call *driver.Call, i int, p driver.Param, memory driver.View[uint8]) {
	switch {
	case p.Pointer:
		driver.Pass(call, i, memory)
	case p.Type == ".f32":
		driver.Pass(call, i, float32(0))
	case p.Type == ".f64":
		driver.Pass(call, i, 0.0)
	case p.Size == 1:
		driver.Pass(call, i, uint8(0))
	case p.Size == 2:
		driver.Pass(call, i, uint16(0))
	case p.Size == 4:
		driver.Pass(call, i, uint32(0))
	case p.Size == 8:
		driver.Pass(call, i, uint64(0))
	default:
		driver.Pass(call, i, [224]byte{}) // a Strided
	}
}
