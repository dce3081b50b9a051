package vm_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/ptx"
)

const header = ".version 8.0\n.target sm_90\n.address_size 64\n"

type number interface {
	~uint8 | ~int8 | ~uint16 | ~int16 | ~uint32 | ~int32 | ~uint64 | ~int64 | ~float32 | ~float64
}

type machine struct {
	t     testing.TB
	mem   *vm.Memory
	mod   *vm.Module
	build string // name of the build that the CUDA kernels come from
}

// load compiles PTX. The text may omit the header.
func load(t testing.TB, text string) *machine {
	t.Helper()
	m, err := tryLoad(t, text)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return m
}

func tryLoad(t testing.TB, text string) (*machine, error) {
	t.Helper()
	if !strings.Contains(text, ".version") {
		text = header + text
	}
	src, err := ptx.Parse("test.ptx", []byte(text))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	mem := vm.NewMemory()
	mod, err := vm.Compile(vm.CompileOptions{Memory: mem, ComputeCapability: 100}, src)
	if err != nil {
		return nil, err
	}
	return &machine{t: t, mem: mem, mod: mod}, nil
}

func upload[T number](m *machine, v []T) uint64 {
	m.t.Helper()
	size := uint64(len(v)) * uint64(unsafe.Sizeof(*new(T)))
	addr, err := m.mem.Alloc(size, vm.AllocOptions{Tag: "test buffer"})
	if err != nil {
		m.t.Fatal(err)
	}
	if err := m.mem.Write(addr, asBytes(v)); err != nil {
		m.t.Fatal(err)
	}
	return addr
}

func download[T number](m *machine, addr uint64, n int) []T {
	m.t.Helper()
	v := make([]T, n)
	if err := m.mem.Read(asBytes(v), addr); err != nil {
		m.t.Fatal(err)
	}
	return v
}

func asBytes[T number](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}

// params encodes the arguments as the parameter block of a kernel.
func params(args ...any) []byte {
	var b []byte
	for _, a := range args {
		size := binary.Size(a)
		for len(b)%size != 0 {
			b = append(b, 0)
		}
		b, _ = binary.Append(b, binary.LittleEndian, a)
	}
	return b
}

func (m *machine) launch(name string, n int, args ...any) error {
	return m.launchWith(name, vm.LaunchOptions{Grid: vm.Dim3{X: 1, Y: 1, Z: 1}, Block: vm.Dim3{X: uint32(n), Y: 1, Z: 1}}, args...)
}

func (m *machine) launchWith(name string, o vm.LaunchOptions, args ...any) error {
	m.t.Helper()
	k, ok := m.mod.Kernel(name)
	if !ok {
		m.t.Fatalf("no kernel %s", name)
	}
	o.Params = params(args...)
	if o.Device.ComputeCapability == 0 {
		o.Device = vm.DeviceInfo{ComputeCapability: 90, SMs: 4}
	}
	return k.Launch(context.Background(), &o)
}

func (m *machine) mustLaunch(name string, n int, args ...any) {
	m.t.Helper()
	if err := m.launch(name, n, args...); err != nil {
		m.t.Fatal(err)
	}
}

func grid(x, threads int) vm.LaunchOptions {
	return vm.LaunchOptions{Grid: vm.Dim3{X: uint32(x), Y: 1, Z: 1}, Block: vm.Dim3{X: uint32(threads), Y: 1, Z: 1}}
}

// kernelText returns a kernel test(out, in0, in1, ...). Each parameter is a pointer to one element
// per thread. In body, %id (u32) is the thread's index, and %a, %b and %c are the thread's inputs,
// whose types are listed in the parameter in. body must set %d, which has the type out.
func kernelText(out string, in []string, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".visible .entry test(.param .u64 po")
	for i := range in {
		fmt.Fprintf(&b, ", .param .u64 p%d", i)
	}
	b.WriteString(")\n{\n.reg .u32 %id, %nt, %cta; .reg .u64 %po, %off; .reg .pred %p, %q; .reg .b32 %t<9>; .reg .b64 %w<9>; .reg .b16 %h<9>; .reg .f32 %f<9>; .reg .f64 %g<9>;\n")
	fmt.Fprintf(&b, ".reg .%s %%d;\n", regType(out))
	b.WriteString("mov.u32 %id, %tid.x; mov.u32 %nt, %ntid.x; mov.u32 %cta, %ctaid.x; mad.lo.u32 %id, %cta, %nt, %id;\n")
	for i, t := range in {
		r := string("abc"[i])
		fmt.Fprintf(&b, ".reg .%s %%%s; .reg .u64 %%p%s;\n", regType(t), r, r)
		fmt.Fprintf(&b, "ld.param.u64 %%p%s, [p%d]; mul.wide.u32 %%off, %%id, %d; add.u64 %%p%s, %%p%s, %%off; ld.global.%s %%%s, [%%p%s];\n", r, i, sizeOf(t), r, r, memType(t), r, r)
	}
	b.WriteString(body)
	fmt.Fprintf(&b, "\nld.param.u64 %%po, [po]; mul.wide.u32 %%off, %%id, %d; add.u64 %%po, %%po, %%off; st.global.%s [%%po], %%d;\nret;\n}\n", sizeOf(out), memType(out))
	return b.String()
}

func sizeOf(t string) int { return ptx.ParseType(t).Size() }

func memType(t string) string {
	switch sizeOf(t) {
	case 1:
		if t == "s8" {
			return "s8"
		}
		return "u8"
	case 2:
		return "b16"
	case 4:
		return "b32"
	}
	return "b64"
}

func regType(t string) string {
	switch t {
	case "f16", "bf16":
		return "b16"
	case "f16x2", "bf16x2", "u16x2", "s16x2":
		return "b32"
	case "u8", "s8", "b8":
		return "b16"
	}
	return t
}

func eval1[D, A number](t *testing.T, dt, at, body string, a []A) []D {
	t.Helper()
	m := load(t, kernelText(dt, []string{at}, body))
	return evaluate[D](m, len(a), upload(m, a))
}

func eval2[D, A, B number](t *testing.T, dt, at, bt, body string, a []A, b []B) []D {
	t.Helper()
	m := load(t, kernelText(dt, []string{at, bt}, body))
	return evaluate[D](m, len(a), upload(m, a), upload(m, b))
}

func eval3[D, A, B, C number](t *testing.T, dt, at, bt, ct, body string, a []A, b []B, c []C) []D {
	t.Helper()
	m := load(t, kernelText(dt, []string{at, bt, ct}, body))
	return evaluate[D](m, len(a), upload(m, a), upload(m, b), upload(m, c))
}

// evaluate runs kernel test on n elements. It runs whole blocks first, and then a smaller block for
// the remaining elements.
func evaluate[D number](m *machine, n int, in ...uint64) []D {
	m.t.Helper()
	const block = 64
	out := upload(m, make([]D, n))
	whole := n / block
	run := func(blocks, threads, from int) {
		m.t.Helper()
		args := []any{out + uint64(from)*uint64(unsafe.Sizeof(*new(D)))}
		for _, a := range in {
			r, _ := m.mem.Find(a)
			args = append(args, a+uint64(from)*(r.Size/uint64(n)))
		}
		if err := m.launchWith("test", grid(blocks, threads), args...); err != nil {
			m.t.Fatal(err)
		}
	}
	if whole > 0 {
		run(whole, block, 0)
	}
	if rest := n - whole*block; rest > 0 {
		run(1, rest, whole*block)
	}
	return download[D](m, out, n)
}

func faultOf(t *testing.T, err error) *vm.Fault {
	t.Helper()
	var f *vm.Fault
	if !errors.As(err, &f) {
		t.Fatalf("no fault but %v", err)
	}
	return f
}

func sameF32(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func sameF64(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}
