package ptx_test

import (
	"fmt"
	"os"

	"github.com/purecuda/cuda/ptx"
)

const scale = `.version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 .ptr .global .align 4 x, .param .f32 by, .param .u32 n)
.maxntid 256
{
	ret;
}
`

func ExampleSignatures() {
	info, err := ptx.Signatures([]byte(scale))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range info.Kernel("scale").Params {
		fmt.Printf("%-2s %-7s .%s at %2d\n", p.Name, p.Kind, p.Type, p.Offset)
	}
	// Output:
	// x  pointer .u64 at  0
	// by scalar  .f32 at  8
	// n  scalar  .u32 at 12
}

func ExampleParse_error() {
	_, err := ptx.Parse("scale.ptx", []byte(scale+".global u32 x;\n"))
	fmt.Printf("%v\n\n%+v\n", err, err)
	// Output:
	// scale.ptx:9:9: expected a type such as .b32, found "u32": .global u32 x;
	//
	// scale.ptx:9:9: expected a type such as .b32, found "u32"
	// .global u32 x;
	//         ^
}

func ExampleInspect() {
	m, err := ptx.Parse("scale.ptx", []byte(scale))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := ptx.Inspect(m).Summary(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// scale.ptx: PTX 7.0 for sm_70, 64-bit addresses, 1 instruction
	//   needs       a driver of CUDA 11.0 or newer and a device of compute capability 7.0 or newer
	//
	// kernel scale, line 4
	//   parameters  3 in 16 bytes
	//             0 x pointer to .global, aligned to 4
	//             8 by .f32
	//            12 n .u32
	//   launch      at most 256 threads per block (.maxntid 256 x 1 x 1)
	//   registers   about 0 live at once; 0 declared registers
	//   code        1 instruction in 1 block
}

func ExampleNeeds_Check() {
	info, err := ptx.Signatures([]byte(".version 8.0\n.target sm_90a\n.address_size 64\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	n := info.Needs()
	fmt.Println("needs", n)
	fmt.Println("driver of CUDA 13.0, device of capability 9.0:", n.Check(13000, 9, 0))
	fmt.Println("driver of CUDA 11.8:", n.Check(11080, 9, 0))
	// Output:
	// needs a driver of CUDA 12.0 or newer and a device of compute capability 9.0 only
	// driver of CUDA 13.0, device of capability 9.0: <nil>
	// driver of CUDA 11.8: PTX 8.0 is newer than the driver, which supports CUDA 11.8 and accepts PTX up to 7.8: install one of CUDA 12.0 or newer, or compile with a toolkit of CUDA 11.8 or older, or lower .version to 7.8 if the text uses nothing newer
}

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

// Positions are 1-based. The zero Pos is not valid.
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

// NewestFor returns the newest PTX version that a driver accepts.
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
