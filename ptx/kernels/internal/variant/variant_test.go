package variant_test

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/kernels/internal"
	"github.com/purecuda/cuda/ptx/kernels/internal/variant"
)

// Each kernel with each uint32 argument that it uses as a constant is valid PTX with that kernel alone, and with the constant instead
// of the load.
func TestEveryArgumentCanBeConstant(t *testing.T) {
	names, err := fs.Glob(internal.Texts, "*/*.ptx")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			text, err := fs.ReadFile(internal.Texts, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range parsed(t, text).Kernels() {
				everyArgument(t, text, k)
			}
		})
	}
}

func everyArgument(t *testing.T, text []byte, k *ptx.Function) {
	whole, err := variant.Text(text, key(k.Name))
	if err != nil {
		t.Fatal(err)
	}
	alone(t, whole, k.Name)
	for i, p := range k.Params {
		got, err := variant.Text(text, key(k.Name, variant.Constant{Number: uint8(i + 1), Value: 4_000_000_000}))
		if p.Type != ptx.U32 || len(p.Dims) > 0 {
			if err == nil {
				t.Errorf("%s: argument %d of type %v is a constant", k.Name, i, p.Type)
			}
			continue
		}
		load := fmt.Sprintf(", [%s];", p.Name)
		loads := strings.Count(body(whole, k.Name), load)
		if loads == 0 {
			if err == nil || !strings.HasSuffix(err.Error(), "it is not loaded") {
				t.Errorf("%s, %s, which is not used: %v", k.Name, p.Name, err)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		alone(t, got, k.Name)
		if strings.Contains(body(got, k.Name), load) || strings.Count(string(got), ", 4000000000;") != loads || loads > 1 {
			t.Errorf("%s: there are %d loads of %s, which the constant does not replace", k.Name, loads, p.Name)
		}
	}
}

func key(kernel string, c ...variant.Constant) variant.Key {
	k := variant.Key{Kernel: [5]string{kernel}}
	copy(k.Constants[:], c)
	return k
}

func parsed(t *testing.T, text []byte) *ptx.Module {
	t.Helper()
	m, err := ptx.Parse("variant", text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// alone ends the test unless a text has one kernel, with a name.
func alone(t *testing.T, text []byte, kernel string) {
	t.Helper()
	if all := parsed(t, text).Kernels(); len(all) != 1 || all[0].Name != kernel {
		t.Fatalf("there are %d kernels, want %s alone", len(all), kernel)
	}
}

func body(text []byte, kernel string) string {
	_, after, _ := strings.Cut(string(text), ".entry "+kernel+"(")
	return after
}

const text = `.version 6.0
.target sm_52
.address_size 64

.visible .entry first(
	.param .u32 a,
	.param .u64 b
)
.maxnreg 40
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [a];
	ret;
}

.func helper()
{
	ret;
}

.visible .entry second(
	.param .u32 a,
	.param .u32 c,
	.param .u32 twice
)
{
	.reg .b32 %r<5>;
	ld.param.b32 %r1, [a];
	ld.param.b32 %r2, [c];
	ld.param.b32 %r3, [twice];
	ld.param.b32 %r4, [twice];
	ret;
}
`

func TestText(t *testing.T) {
	const want = `.version 6.0
.target sm_52
.address_size 64


.func helper()
{
	ret;
}

.visible .entry second(
	.param .u32 a,
	.param .u32 c,
	.param .u32 twice
)
{
	.reg .b32 %r<5>;
	mov.b32 %r1, 0;
	mov.b32 %r2, 7;
	ld.param.b32 %r3, [twice];
	ld.param.b32 %r4, [twice];
	ret;
}
`
	got, err := variant.Text([]byte(text), key("second", variant.Constant{Number: 1}, variant.Constant{Number: 2, Value: 7}))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, c := range []struct {
		key  variant.Key
		want string
	}{
		{key("third"), "there is no kernel third"},
		{key("sec"), "there is no kernel sec"},
		{key("first", variant.Constant{Number: 2}), "kernel first, argument 1: it is not a uint32"},
		{key("first", variant.Constant{Number: 3}), "kernel first, argument 2: it does not exist"},
		{key("second", variant.Constant{Number: 3}), "kernel second, argument 2: it is not loaded once"},
	} {
		if _, err := variant.Text([]byte(text), c.key); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestRegisters(t *testing.T) {
	k := key("first")
	k.Registers = 56
	got, err := variant.Text([]byte(text), k)
	if err != nil {
		t.Fatal(err)
	}
	if want := ")\n.maxnreg 56\n{\n"; !strings.Contains(string(got), want) || strings.Contains(string(got), "40") {
		t.Errorf("%q is missing in\n%s", want, got)
	}
	k.Kernel[0] = "second"
	if _, err := variant.Text([]byte(text), k); err == nil || err.Error() != "kernel second has no limit of registers" {
		t.Errorf("got %v", err)
	}
}

// A context loads a variant once, and others separately.
func TestModuleIsLoadedOnce(t *testing.T) {
	c := cudatest.Device(t)
	ptx := []byte(text)
	code := &variant.Code{Name: "test", PTX: &ptx}
	one := key("second", variant.Constant{Number: 1, Value: 1})
	var modules [8]*driver.Module
	var callers sync.WaitGroup
	for i := range modules {
		callers.Go(func() {
			m, err := code.Module(c, &one)
			if err != nil {
				t.Error(err)
			}
			modules[i] = m
		})
	}
	callers.Wait()
	for _, m := range modules {
		if m != modules[0] {
			t.Fatal("a variant was loaded twice")
		}
	}
	all := map[*driver.Module]uint32{modules[0]: 1}
	for range 2 {
		for value := range uint32(40) { // more than there are places for recent variants
			k := key("second", variant.Constant{Number: 1, Value: value})
			m, err := code.Module(c, &k)
			if err != nil {
				t.Fatal(err)
			}
			if old, found := all[m]; found && old != value {
				t.Errorf("the variants for %d and %d are the same module", old, value)
			}
			all[m] = value
		}
	}
	if len(all) != 40 {
		t.Errorf("40 variants are %d modules", len(all))
	}
	third := key("third")
	if _, err := code.Module(c, &third); err == nil || err.Error() != "test: there is no kernel third" {
		t.Errorf("got %v", err)
	}
}
