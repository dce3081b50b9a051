package isa_test

import (
	"fmt"
	"log"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/isa"
)

func ExampleCheck() {
	// [check]
	text := `.version 7.8
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 p)
{
	.reg .f32 %f<3>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [p];
	ld.global.u32 %f1, [%rd1];
	sqrt.f32 %f2, %f1;
	st.global.f32 [%rd1], %f2;
	ret;
}`
	m, err := ptx.Parse("scale.ptx", []byte(text))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", isa.Check(m))
	// [end]

	// Output:
	// scale.ptx:9:2: ld.global.u32: operand 1 is register %f1 of type .f32; it must be .u32 or wider
	// scale.ptx:10:2: sqrt.f32 is not available from PTX 1.4 on: sqrt needs one of .approx .rn .rz .rm .rp
}
