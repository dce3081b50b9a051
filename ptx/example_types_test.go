package ptx_test

import (
	"fmt"

	"github.com/purecuda/cuda/ptx"
)

// module returns the module that the examples inspect.
func module() *ptx.Module {
	m, err := ptx.Parse("scale.ptx", []byte(scale+".const .align 8 .f64 table[16];\n"))
	if err != nil {
		panic(err)
	}
	return m
}

func ExampleFunction() {
	for _, d := range module().Decls {
		if f, ok := d.(*ptx.Function); ok {
			most, _ := f.Directive("maxntid")
			fmt.Println(f.Name, f.Entry, len(f.Params), most.Args)
		}
	}
	// Output: scale true 3 [256]
}

func ExampleVariable() {
	for _, d := range module().Decls {
		if v, ok := d.(*ptx.Variable); ok {
			fmt.Println(v.Name, v.Len(), "elements,", v.Size(), "bytes, aligned to", v.Alignment())
		}
	}
	// Output: table 16 elements, 128 bytes, aligned to 8
}

// Positions are 1-based; the zero Pos is not valid.
func ExamplePos() {
	at := module().Decls[0].Position()
	fmt.Println(at.Line, at.Col, at.IsValid(), ptx.Pos{}.IsValid())
	// Output: 4 1 true false
}

func ExampleParseTarget() {
	for _, name := range []string{"sm_80", "sm_90a"} {
		t, _ := ptx.ParseTarget(name)
		since, _ := t.Since()
		fmt.Println(t, "since PTX", since, "runs on 9.0:", t.RunsOn(9, 0), "on 10.0:", t.RunsOn(10, 0))
	}
	// Output:
	// sm_80 since PTX 7.0 runs on 9.0: true on 10.0: true
	// sm_90a since PTX 8.0 runs on 9.0: true on 10.0: false
}

// NewestFor returns the newest PTX that a driver accepts.
func ExampleNewestFor() {
	v, _ := ptx.NewestFor(12040)
	fmt.Println(v, v.AtLeast(8, 0))
	// Output: 8.4 true
}

func ExampleNewOpcode() {
	o, _ := ptx.NewOpcode("ld.global.nc.v4.f32")
	fmt.Println(o.Name, o.Mods, o.Has("nc"), o.Type())
	// Output: ld [global nc v4 f32] true f32
}
