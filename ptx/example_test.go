package ptx_test

import (
	"fmt"

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
