package ptx_test

import (
	"fmt"
	"os"

	"github.com/purecuda/cuda/ptx"
)

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
