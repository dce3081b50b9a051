package mathkernels

import (
	"embed"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/gpu"
	gpumath "github.com/purecuda/cuda/ptx/gpu/math"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	"github.com/purecuda/cuda/ptx/num"
)

// functions lists the functions to compile. The kernels have the same names as the functions.
var functions = []any{
	math32.Abs, math32.Acos, math32.Acosh, math32.Asin, math32.Asinh, math32.Atan, math32.Atan2, math32.Atanh, math32.Cbrt, math32.Ceil,
	math32.Copysign, math32.Cos, math32.Cosh, math32.Cospi, math32.Dim, math32.Erf, math32.Erfc, math32.Exp, math32.Exp2, math32.Expm1,
	math32.FMA, math32.FastCos, math32.FastDiv, math32.FastExp, math32.FastExp2, math32.FastLog, math32.FastLog10, math32.FastLog2,
	math32.FastPow, math32.FastRsqrt, math32.FastSin, math32.FastSincos, math32.FastSqrt, math32.FastTan, math32.FastTanh,
	math32.Float32bits, math32.Float32frombits, math32.Floor, math32.Frexp, math32.Hypot, math32.Ilogb, math32.Inf, math32.IsInf,
	math32.IsNaN, math32.Ldexp, math32.Log, math32.Log10, math32.Log1p, math32.Log2, math32.Logb, math32.Max, math32.Min, math32.Mod,
	math32.Modf, math32.NaN, math32.Nextafter, math32.Pow, math32.Rcbrt, math32.Remainder, math32.Round, math32.RoundToEven, math32.Rsqrt,
	math32.Signbit, math32.Sin, math32.Sincos, math32.Sinh, math32.Sinpi, math32.Sqrt, math32.Tan, math32.Tanh, math32.Trunc,

	gpumath.Abs, gpumath.Acos, gpumath.Acosh, gpumath.Asin, gpumath.Asinh, gpumath.Atan, gpumath.Atan2, gpumath.Atanh, gpumath.Cbrt,
	gpumath.Ceil, gpumath.Copysign, gpumath.Cos, gpumath.Cosh, gpumath.Cospi, gpumath.Dim, gpumath.Erf, gpumath.Erfc, gpumath.Exp,
	gpumath.Exp2, gpumath.Expm1, gpumath.FMA, gpumath.Float64bits, gpumath.Float64frombits, gpumath.Floor, gpumath.Frexp, gpumath.Hypot,
	gpumath.Ilogb, gpumath.Inf, gpumath.IsInf, gpumath.IsNaN, gpumath.Ldexp, gpumath.Log, gpumath.Log10, gpumath.Log1p, gpumath.Log2,
	gpumath.Logb, gpumath.Max, gpumath.Min, gpumath.Mod, gpumath.Modf, gpumath.NaN, gpumath.Nextafter, gpumath.Pow, gpumath.Rcbrt,
	gpumath.Remainder, gpumath.Round, gpumath.RoundToEven, gpumath.Rsqrt, gpumath.Signbit, gpumath.Sin, gpumath.Sincos, gpumath.Sinh,
	gpumath.Sinpi, gpumath.Sqrt, gpumath.Tan, gpumath.Tanh, gpumath.Trunc,

	gpu.ApproxCos, gpu.ApproxDiv, gpu.ApproxExp, gpu.ApproxExp2, gpu.ApproxLog, gpu.ApproxLog2, gpu.ApproxRcp, gpu.ApproxRsqrt,
	gpu.ApproxSin, gpu.ApproxSqrt, gpu.ApproxTanh, gpu.ApproxExp2FTZ, gpu.ApproxLog2FTZ, gpu.ApproxRcpFTZ, gpu.ApproxRsqrtFTZ,

	num.Max[float32], num.Min[float32], num.Max[float64], num.Min[float64],
}

// function describes a function under test.
type function struct {
	pkg, name string // such as math32 and Sin
	f         reflect.Value
	t         reflect.Type
	wide      bool // whether it computes in float64
	floats    int  // number of floating-point arguments
}

func (f function) kernel() string {
	if f.pkg == "num" && f.wide {
		return "num64_" + f.name
	}
	return f.pkg + "_" + f.name
}

func (f function) String() string { return f.pkg + "." + f.name }

// all returns descriptions of the listed functions, in order.
func all() []function {
	var list []function
	for _, f := range functions {
		v := reflect.ValueOf(f)
		path := runtime.FuncForPC(v.Pointer()).Name()
		pkg, name, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ".")
		name, _, _ = strings.Cut(name, "[") // remove the type arguments of an instance
		fn := function{pkg: pkg, name: name, f: v, t: v.Type()}
		fn.wide = pkg == "math" || pkg == "num" && fn.t.In(0).Kind() == reflect.Float64
		for i := range fn.t.NumIn() {
			if k := fn.t.In(i).Kind(); k == reflect.Float32 || k == reflect.Float64 {
				fn.floats++
			}
		}
		list = append(list, fn)
	}
	return list
}

func find(t testing.TB, name string) function {
	t.Helper()
	list := all()
	i := slices.IndexFunc(list, func(f function) bool { return f.String() == name })
	if i < 0 {
		t.Fatalf("no function %s", name)
	}
	return list[i]
}

// exported returns the exported functions of a package whose names have the given prefix.
func exported(t *testing.T, pkg string, source embed.FS, prefix string) (names []string) {
	files, err := fs.Glob(source, "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := source.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, data, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.IsExported() && strings.HasPrefix(fn.Name.Name, prefix) {
				names = append(names, pkg+"."+fn.Name.Name)
			}
		}
	}
	return names
}

// The list must contain all exported functions.
func TestListIsComplete(t *testing.T) {
	want := slices.Concat(exported(t, "math", gpumath.Source, ""), exported(t, "math32", math32.Source, ""), exported(t, "gpu", gpu.Source, "Approx"))
	var have []string
	for _, f := range all() {
		if f.pkg != "num" {
			have = append(have, f.String())
		}
	}
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(have, want) {
		t.Errorf("the list has\n%v\nwant\n%v", have, want)
	}
}
