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
	"github.com/purecuda/cuda/ptx/go2ptx"
)

// text returns a package with a kernel for each function. The kernels receive slices of arguments
// (floats in x, y and z, integers in n) and write the bits of the results to other slices.
func text(list []function) string {
	var b strings.Builder
	b.WriteString(`package kernels

import (
	stdmath "math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	"github.com/purecuda/cuda/ptx/num"
)

var _, _, _ = math.Abs(0), math32.Abs(0), num.Abs(float32(0))

func float32Bits(x float32) uint64 { return uint64(stdmath.Float32bits(x)) }
func float64Bits(x float64) uint64 { return stdmath.Float64bits(x) }
func intBits(x int) uint64 { return uint64(x) }
func uint32Bits(x uint32) uint64 { return uint64(x) }
func uint64Bits(x uint64) uint64 { return x }
func boolBits(x bool) uint64 {
	if x {
		return 1
	}
	return 0
}
`)
	for _, f := range list {
		b.WriteString(f.text())
	}
	return b.String()
}

func (f function) text() string {
	var args, results, stores []string
	floats := 0
	for i := range f.t.NumIn() {
		switch kind := f.t.In(i).Kind(); kind {
		case reflect.Float32, reflect.Float64:
			args = append(args, "xyz"[floats:floats+1]+"[i]")
			floats++
		default:
			args = append(args, kind.String()+"(n[i])")
		}
	}
	for i := range f.t.NumOut() {
		name := "ab"[i : i+1]
		results = append(results, name)
		stores = append(stores, fmt.Sprintf("out%s[i] = %sBits(%s)", strings.ToUpper(name), f.t.Out(i).Kind(), name))
	}
	float := "float32"
	if f.wide {
		float = "float64"
	}
	return fmt.Sprintf(`
//gpu:kernel
func %s(t gpu.Thread, x, y, z []%s, n []int, outA, outB []uint64) {
	if i := t.GlobalX(); i < len(outA) {
		%s := %s(%s)
		%s
	}
}
`, f.kernel(), float, strings.Join(results, ", "), f, strings.Join(args, ", "), strings.Join(stores, "\n\t\t"))
}

func compile(t testing.TB, text string, noFMA bool) []byte {
	t.Helper()
	out, err := go2ptx.Compile(go2ptx.Config{NoFMA: noFMA, Package: go2ptx.Package{
		Path: "kernels", GoVersion: "1.25", Files: []go2ptx.File{{Name: "kernels.go", Data: []byte(text)}}}})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return out.PTX
}

// entry returns the PTX of a single kernel.
func entry(ptx []byte, kernel string) string {
	_, after, _ := strings.Cut(string(ptx), ".entry "+kernel+"(")
	body, _, _ := strings.Cut(after, "\n}")
	return body
}

// arguments are the arguments of calls. Those for float32 functions are stored as float64 values.
type arguments struct {
	x, y, z []float64
	n       []int
}

func (a *arguments) add(x, y, z float64) {
	n := math.MaxInt32
	if math.Abs(y) < 1e6 {
		n = int(y)
	}
	a.x, a.y, a.z, a.n = append(a.x, x), append(a.y, y), append(a.z, z), append(a.n, n)
}

// host performs call i in Go and returns the bits of the results. All NaNs are mapped to the same
// bits.
func (f function) host(a *arguments, i int) (bits [2]uint64) {
	var args []reflect.Value
	floats := [][]float64{a.x, a.y, a.z}
	for k := range f.t.NumIn() {
		v := reflect.New(f.t.In(k)).Elem()
		switch {
		case v.CanFloat():
			v.SetFloat(floats[0][i])
			floats = floats[1:]
		case v.CanInt():
			v.SetInt(int64(a.n[i]))
		default:
			v.SetUint(uint64(a.n[i]) & (1<<v.Type().Bits() - 1))
		}
		args = append(args, v)
	}
	for k, v := range f.f.Call(args) {
		switch {
		case v.Kind() == reflect.Float32:
			bits[k] = uint64(math.Float32bits(float32(v.Float())))
		case v.Kind() == reflect.Float64:
			bits[k] = math.Float64bits(v.Float())
		case v.CanInt():
			bits[k] = uint64(v.Int())
		case v.CanUint():
			bits[k] = v.Uint()
		case v.Bool():
			bits[k] = 1
		}
		bits[k] = f.class(k, bits[k])
	}
	return bits
}

// class returns the bits of result k, or a fixed value if it is a NaN.
func (f function) class(k int, bits uint64) uint64 {
	if k < f.t.NumOut() {
		x, ok := f.float(k, bits)
		switch {
		case !ok || x == x:
		case f.t.Out(k).Kind() == reflect.Float32:
			return 0x7fc00000
		default:
			return 0x7ff8000000000000
		}
	}
	return bits
}

// float returns result k as a number. It returns false if the result is not a float.
func (f function) float(k int, bits uint64) (float64, bool) {
	switch f.t.Out(k).Kind() {
	case reflect.Float32:
		return float64(math.Float32frombits(uint32(bits))), true
	case reflect.Float64:
		return math.Float64frombits(bits), true
	}
	return float64(int64(bits)), false
}

// slice has the memory layout of a slice in kernel parameters.
type slice struct {
	ptr      driver.CUdeviceptr
	len, cap int64
}

// device runs the kernels of a module on a device.
type device struct {
	t testing.TB
	c *driver.Context
	s *driver.Stream
	m *driver.Module
}

func load(t testing.TB, c *driver.Context, ptx []byte) *device {
	t.Helper()
	m, err := c.LoadModule(ptx)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), m.Close()); err != nil {
			t.Error(err)
		}
	})
	return &device{t, c, s, m}
}

func upload[T any](d *device, x []T) (slice, *driver.Buffer[T]) {
	d.t.Helper()
	b, err := driver.AllocFrom(d.c, x)
	if err != nil {
		d.t.Fatal(err)
	}
	return slice{b.Ptr(), int64(b.Len()), int64(b.Len())}, b
}

// call performs all calls on the device and returns the bits of the results. All NaNs are mapped to
// the same bits.
func (d *device) call(f function, a *arguments) [][2]uint64 {
	d.t.Helper()
	var args []any
	var open []interface{ Close() error }
	defer func() {
		for _, b := range open {
			if err := b.Close(); err != nil {
				d.t.Error(err)
			}
		}
	}()
	for _, x := range [][]float64{a.x, a.y, a.z} {
		if f.wide {
			s, b := upload(d, x)
			args, open = append(args, s), append(open, b)
			continue
		}
		narrow := make([]float32, len(x))
		for i := range x {
			narrow[i] = float32(x[i])
		}
		s, b := upload(d, narrow)
		args, open = append(args, s), append(open, b)
	}
	s, b := upload(d, a.n)
	args, open = append(args, s), append(open, b)
	var outs []*driver.Buffer[uint64]
	for range 2 {
		s, b := upload(d, make([]uint64, len(a.x)))
		args, open, outs = append(args, s), append(open, b), append(outs, b)
	}
	d.run(f.kernel(), len(a.x), args...)
	results := make([][2]uint64, len(a.x))
	for k := range f.t.NumOut() {
		words := make([]uint64, len(a.x))
		if err := outs[k].CopyTo(words); err != nil {
			d.t.Fatal(err)
		}
		for i, w := range words {
			results[i][k] = f.class(k, w)
		}
	}
	return results
}

const block = 256

// run launches a kernel with at least n threads.
func (d *device) run(kernel string, n int, args ...any) {
	d.t.Helper()
	k, err := d.m.Kernel(kernel)
	if err != nil {
		d.t.Fatal(err)
	}
	cfg := driver.LaunchConfig{Grid: driver.D1((n + block - 1) / block), Block: driver.D1(block)}
	if err := errors.Join(k.Launch(d.s, cfg, args...), d.s.Wait(context.Background())); err != nil {
		d.t.Fatalf("%s: %+v", kernel, err)
	}
}
