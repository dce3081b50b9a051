package image_test

import (
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/purecuda/cuda/driver/image"
)

const axpyPTX = `.version 7.0
.target sm_70
.address_size 64
.visible .entry axpy() { ret; }
`

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// This example lists the parts of an image, and selects the part that a device runs.
func ExampleParse() {
	axpy, err := image.Parse("axpy.ptx", []byte(axpyPTX))
	check(err)
	h200, err := image.ParseArch("sm_90")
	check(err)
	part, err := axpy.Part(h200)
	check(err)
	fmt.Println(axpy.Kind(), part.Arch, part.Version)
	old, err := image.ParseArch("sm_60")
	check(err)
	_, err = axpy.Part(old)
	fmt.Println(errors.Is(err, image.ErrMismatch))
	// Output:
	// PTX sm_70 7.0
	// true
}

func ExampleParseArch() {
	arch, err := image.ParseArch("sm_90a")
	check(err)
	fmt.Println(arch.Major, arch.Minor, string(arch.Suffix), arch)
	// Output: 9 0 a sm_90a
}

// This example prints the decompressed entries of a fat binary.
func ExamplePart() {
	data, err := os.ReadFile("../testdata/images/default.fatbin")
	check(err)
	fat, err := image.Parse("default.fatbin", data)
	check(err)
	for _, part := range fat.Parts() {
		code, err := part.Bytes()
		check(err)
		fmt.Println(part, part.Compressed, len(code) > 0)
	}
	// Output:
	// cubin for sm_75 false true
	// cubin for sm_90 false true
	// PTX 9.0 for sm_90 true true
}
