package lower

import (
	"errors"
	"fmt"
	"go/types"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/lower/testdata/corpus"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
)

func init() { debugPanics = true }

const module = "github.com/purecuda/cuda/"

// resolve finds the sources of packages in this module.
func resolve(path string) (source.Sources, error) {
	s := source.Sources{Path: path}
	rest, ok := strings.CutPrefix(path, module)
	if !ok {
		return s, fmt.Errorf("package %s is not in this test", path)
	}
	return s, addFiles(&s, filepath.Join("../../../..", rest))
}

func addFiles(s *source.Sources, dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s.Files = append(s.Files, source.File{Name: filepath.Base(name), Data: data})
	}
	if len(names) == 0 {
		return fmt.Errorf("no files in %s", dir)
	}
	return err
}

// loadCorpus loads all functions of the corpus. A kernel that is never compiled refers to them, so
// that they are loaded.
func loadCorpus(t testing.TB) *source.Program {
	t.Helper()
	s := source.Sources{Path: module + "ptx/go2ptx/internal/lower/testdata/corpus"}
	if err := addFiles(&s, "testdata/corpus"); err != nil {
		t.Fatal(err)
	}
	text := "package corpus\n\nimport \"" + pathGPU + "\"\n\n//gpu:kernel\nfunc all(t gpu.Thread) {\n"
	for _, f := range corpus.Funcs {
		text += "\t_ = " + nameOf(f) + "\n"
	}
	s.Files = append(s.Files, source.File{Name: "all.go", Data: []byte(text + "}\n")})
	p, err := source.Load(source.Config{Main: s, Resolve: resolve})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func nameOf(f any) string {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return name[strings.LastIndexByte(name, '.')+1:]
}

func TestCorpus(t *testing.T) {
	p := loadCorpus(t)
	scope := p.Kernels[0].Pkg.Types.Scope()
	for _, f := range corpus.Funcs {
		t.Run(nameOf(f), func(t *testing.T) {
			if nameOf(f) == "ComplexDiv" && irtest.HostFuses() {
				t.Skip("Go's run time divides complex numbers with fused operations on this processor")
			}
			fn := scope.Lookup(nameOf(f)).(*types.Func)
			m, errs := LowerFunc(p, fn, Options{})
			for _, err := range errs {
				t.Error(err)
			}
			if t.Failed() {
				t.FailNow()
			}
			if err := m.Verify(); err != nil {
				t.Fatalf("%v\n%s", err, m)
			}
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range 200 {
				if !compareOnce(t, m, f, rng, i) {
					t.Logf("%s", m)
					return
				}
			}
		})
	}
}

// compareOnce calls a function natively and in the interpreter, with the same random arguments.
func compareOnce(t *testing.T, m *ir.Module, f any, rng *rand.Rand, round int) bool {
	fv := reflect.ValueOf(f)
	mach := irtest.New(m)
	mach.Steps = 1_000_000
	var native []reflect.Value
	var args []int64
	var slices []memory
	for i := range fv.Type().NumIn() {
		v := randomValue(fv.Type().In(i), rng, round)
		native = append(native, v)
		if v.Kind() == reflect.Slice {
			size := int(v.Type().Elem().Size())
			addr := mach.Alloc(size*v.Cap() + 16)
			full := v.Slice(0, v.Cap())
			for j := range full.Len() {
				encode(mach.Memory[int(addr)+j*size:], full.Index(j))
			}
			slices = append(slices, memory{full, addr})
			args = append(args, addr, int64(v.Len()), int64(v.Cap()))
			continue
		}
		args = append(args, leaves(v)...)
	}
	given := fmt.Sprint(args)
	results, err := mach.Call(m.Funcs[0], args)
	want, fault := callNative(fv, native)
	switch {
	case errors.As(err, new(*irtest.Fault)) && fault != "":
		var have *irtest.Fault
		errors.As(err, &have)
		if !sameFault(have, fault) {
			t.Errorf("%s: fault %v, want %s", given, have, fault)
			return false
		}
		return true
	case err != nil || fault != "":
		t.Errorf("%s: %v, want %q", given, err, fault)
		return false
	}
	var bits []int64
	for _, w := range want {
		bits = append(bits, leaves(w)...)
	}
	for i, r := range results {
		results[i] = oneNaN(r, m.Funcs[0].Results[i])
	}
	if fmt.Sprint(bits) != fmt.Sprint(results) {
		t.Errorf("%s: %v, want %v = %v", given, results, bits, want)
		return false
	}
	for _, s := range slices {
		if !s.same(mach) {
			t.Errorf("%s: the slice differs, want %v", given, s.v)
			return false
		}
	}
	return true
}

// oneNaN replaces every NaN with the same one.
func oneNaN(bits int64, t ir.Type) int64 {
	switch t {
	case ir.TF32:
		return leaves(reflect.ValueOf(math.Float32frombits(uint32(bits))))[0]
	case ir.TF64:
		return leaves(reflect.ValueOf(math.Float64frombits(uint64(bits))))[0]
	}
	return bits
}

type memory struct {
	v    reflect.Value
	addr int64
}

func (m memory) same(mach *irtest.Machine) bool {
	size := int(m.v.Type().Elem().Size())
	for i := range m.v.Len() {
		want := make([]byte, size+8)
		at := int(m.addr) + i*size
		copy(want, mach.Memory[at:at+size]) // padding bytes need not match, so take them from the machine
		encode(want, m.v.Index(i))
		if string(want[:size]) != string(mach.Memory[at:at+size]) {
			return false
		}
	}
	return true
}

func callNative(f reflect.Value, args []reflect.Value) (results []reflect.Value, fault string) {
	defer func() {
		if r := recover(); r != nil {
			fault = fmt.Sprint(r)
		}
	}()
	return f.Call(args), ""
}

// sameFault reports whether a fault record matches Go's panic message.
func sameFault(have *irtest.Fault, want string) bool {
	v := func(i int) int64 {
		if i < len(have.Values) {
			return have.Values[i]
		}
		return -999
	}
	switch have.Kind {
	case "index":
		index := strings.Contains(want, fmt.Sprintf("index out of range [%d]", v(0))) || strings.Contains(want, fmt.Sprintf("index out of range [%d]", uint64(v(0))))
		return index && (v(0) < 0 || strings.HasSuffix(want, fmt.Sprintf("with length %d", v(1))))
	case "slice":
		return strings.Contains(want, "slice bounds out of range")
	case "nil":
		return strings.Contains(want, "nil pointer")
	case "divide":
		return strings.Contains(want, "integer divide by zero")
	case "shift":
		return strings.Contains(want, "negative shift amount")
	case "convert":
		return strings.Contains(want, "cannot convert slice")
	case "panic":
		return have.Message == want
	}
	return false
}

var interesting = []int64{0, 1, 2, 3, 5, 7, -1, -2, 8, 31, 32, 63, 64, 127, 128, 255, 256, -128, 32767, -32768, 1 << 31, -1 << 31, 1<<31 - 1, 1<<63 - 1, -1 << 63}
var floats = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 2.5, -3.5, 1e30, 1e-30, math.Inf(1), math.Inf(-1), math.NaN(), 3e38, 0.1, 1e300, 5e-324}

func randomValue(t reflect.Type, rng *rand.Rand, round int) reflect.Value {
	v := reflect.New(t).Elem()
	n := interesting[rng.IntN(len(interesting))]
	if rng.IntN(3) == 0 {
		n = int64(rng.Uint64())
	} else if rng.IntN(2) == 0 {
		n = rng.Int64N(10) - 1
	}
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(n&1 != 0)
	case reflect.Float32, reflect.Float64:
		f := floats[rng.IntN(len(floats))]
		if rng.IntN(2) == 0 {
			f = rng.NormFloat64() * 10
		}
		v.SetFloat(f)
	case reflect.Slice:
		c := rng.IntN(8)
		s := reflect.MakeSlice(t, c, c)
		for i := range c {
			s.Index(i).Set(randomValue(t.Elem(), rng, round))
		}
		v.Set(s.Slice(0, c-rng.IntN(c+1)/2))
	case reflect.Struct:
		for i := range t.NumField() {
			v.Field(i).Set(randomValue(t.Field(i).Type, rng, round))
		}
	case reflect.Array:
		for i := range t.Len() {
			v.Index(i).Set(randomValue(t.Elem(), rng, round))
		}
	default:
		if v.CanInt() {
			v.SetInt(n)
		} else {
			v.SetUint(uint64(n))
		}
	}
	return v
}

// leaves returns the scalar parts of a value in the representation of the IR. It maps all NaNs of a
// type to the same bits.
func leaves(v reflect.Value) (list []int64) {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return []int64{1}
		}
		return []int64{0}
	case reflect.Float32:
		if v.Float() != v.Float() {
			return []int64{0x7fc00000}
		}
		return []int64{int64(math.Float32bits(float32(v.Float())))}
	case reflect.Float64:
		if v.Float() != v.Float() {
			return []int64{0x7ff8000000000001}
		}
		return []int64{int64(math.Float64bits(v.Float()))}
	case reflect.Complex64, reflect.Complex128:
		re, im := reflect.ValueOf(real(v.Complex())), reflect.ValueOf(imag(v.Complex()))
		if v.Kind() == reflect.Complex64 {
			re, im = reflect.ValueOf(float32(re.Float())), reflect.ValueOf(float32(im.Float()))
		}
		return append(leaves(re), leaves(im)...)
	case reflect.Struct:
		for i := range v.NumField() {
			list = append(list, leaves(v.Field(i))...)
		}
		return list
	case reflect.Array:
		for i := range v.Len() {
			list = append(list, leaves(v.Index(i))...)
		}
		return list
	case reflect.Uint32:
		return []int64{int64(int32(v.Uint()))}
	}
	if v.CanInt() {
		return []int64{v.Int()}
	}
	return []int64{int64(v.Uint())}
}

// encode writes a value in its memory representation.
func encode(data []byte, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			encode(data[v.Type().Field(i).Offset:], v.Field(i))
		}
		return
	case reflect.Array:
		for i := range v.Len() {
			encode(data[i*int(v.Type().Elem().Size()):], v.Index(i))
		}
		return
	}
	bits := leaves(v)[0]
	for i := range v.Type().Size() {
		data[i] = byte(bits >> (8 * i))
	}
}
