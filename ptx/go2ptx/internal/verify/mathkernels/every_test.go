package mathkernels

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/mathtest"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

// everyText returns kernels that measure the errors of one-argument float32 functions on the
// device, relative to the float64 functions. The error of the float64 functions is below 2^-51,
// which is negligible here. Each thread writes the largest error it finds and the corresponding
// argument.
func everyText(list []measure) string {
	var b strings.Builder
	b.WriteString(`package mathtest

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)
`)
	for i, m := range list {
		name, _, _ := strings.Cut(m.name, ", ")
		reference := strings.TrimPrefix(name, "Fast")
		left := "r"
		if m.f.t.NumOut() == 2 {
			left = [2]string{"r, _", "_, r"}[m.result]
		}
		wide := "r"
		if m.f.t.Out(m.result).Kind() == reflect.Int {
			wide = "float64(float32(r))"
		}
		fmt.Fprintf(&b, `
//gpu:kernel
func every%d(t gpu.Thread, first, step uint32, n int, worst []float64, at []uint32) {
	var most float64
	var where uint32
	for k := t.GlobalX(); k < n; k += len(worst) {
		bits := first + step*uint32(k)
		x := math32.Float32frombits(bits)
		got, want := got%d(x), want%d(float64(x))
		if e := ULP32(got, want); e > most || e != e {
			most, where = e, bits
			if e != e {
				break
			}
		}
	}
	if i := t.GlobalX(); i < len(worst) {
		worst[i], at[i] = most, where
	}
}

func got%d(x float32) float32 {
	%s := math32.%s(x)
	return float32(r)
}

func want%d(x float64) float64 {
	%s := math.%s(x)
	return %s
}
`, i, i, i, i, left, name, i, left, reference, wide)
	}
	return b.String()
}

// everyMeasures returns the measures of the one-argument functions, and approximations for
// comparison.
func everyMeasures(t testing.TB) (list []measure) {
	narrow, _ := measures(t)
	for _, m := range narrow {
		if m.f.t.NumIn() == 1 {
			list = append(list, m)
		}
	}
	for _, name := range []string{"Exp", "Log", "Sin"} {
		for _, m := range narrow {
			if m.name == name {
				m.name, m.f, m.bound = "Fast"+name, find(t, "math32.Fast"+name), math.Inf(1)
				list = append(list, m)
			}
		}
	}
	return list
}

// TestEvery measures the errors of one-argument float32 functions on the device that evaluates
// them. On a GPU with PURECUDA_MATH_LONG set, it covers every float32 value.
func TestEvery(t *testing.T) {
	list := everyMeasures(t)
	out, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{Path: "mathtest", GoVersion: "1.25", Files: []go2ptx.File{
		{Name: "kernels.go", Data: []byte(everyText(list))}, {Name: "ulp.go", Data: mathtest.Errors}}}})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Run("emulator", func(t *testing.T) {
		gputest.OnEmulator(t, emulatorConfig, func(t *testing.T, c *driver.Context) {
			d := load(t, c, out.PTX)
			const n, step, threads = 3000, 0xffffffff / 3000, 2 * block
			for i, m := range list {
				w := d.every(i, threads, step, n)
				if want := m.sample(d, step, n); w != want {
					t.Errorf("%s: the kernel measured %v, want %v", m.name, w, want)
				}
			}
		})
	})
	t.Run("gpu", func(t *testing.T) {
		gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
			d := load(t, c, out.PTX)
			step, n := uint32(4099), 1<<32/4099
			if long {
				step, n = 1, 1<<32
			}
			errs := map[string]float64{}
			for i, m := range list {
				w := d.every(i, 1<<18, step, n)
				errs[m.name] = w.error
				t.Logf("%s: %.3f ulp at %x", m.name, w.error, w.x)
				if !(w.error <= m.bound) {
					t.Errorf("%s(%x) has an error of %.3f ulp, want at most %v", m.name, w.x, w.error, m.bound)
				}
			}
			if !(errs["FastExp"] > 10) {
				t.Errorf("FastExp has an error of %v ulp, so nothing was measured", errs["FastExp"])
			}
			t.Log(table(fmt.Sprintf("Largest errors in ulps, %d float32 arguments", n), nil, errs, list))
		})
	})
}

// every runs kernel i of everyText.
func (d *device) every(i, threads int, step uint32, n int) worst {
	d.t.Helper()
	worsts, at := make([]float64, threads), make([]uint32, threads)
	w, wb := upload(d, worsts)
	a, ab := upload(d, at)
	d.run(fmt.Sprintf("every%d", i), threads, uint32(0), step, int64(n), w, a)
	if err := errors.Join(d.s.Wait(context.Background()), wb.CopyTo(worsts), ab.CopyTo(at), wb.Close(), ab.Close()); err != nil {
		d.t.Fatal(err)
	}
	var most worst
	for k, e := range worsts {
		if e > most.error || e != e || e == most.error && e > 0 && float64(at[k]) < most.got {
			// Break ties by the bits of the argument, so that the result is deterministic.
			most = worst{error: e, got: float64(at[k]), x: float64(math.Float32frombits(at[k]))}
		}
	}
	most.got = 0
	return most
}

// sample measures on the host what every measures on the emulator.
func (m measure) sample(d *device, step uint32, n int) worst {
	var most worst
	for k := range n {
		x := float64(math.Float32frombits(step * uint32(k)))
		a := &arguments{}
		a.add(x, x, 0)
		got, _ := m.f.float(m.result, m.f.host(a, 0)[m.result])
		if e := m.error(float64(float32(got)), x, x); e > most.error || e != e {
			most = worst{error: e, x: x}
		}
	}
	return most
}
