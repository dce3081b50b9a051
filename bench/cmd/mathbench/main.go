// Command mathbench compares, on a GPU, the speed of the functions in ptx/gpu/math32 and
// ptx/gpu/math with that of CUDA's math library. go2ptx compiles the Go functions. nvcc or NVRTC
// compiles CUDA's functions. bench/math.sh builds the command and its counterpart.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/nvrtc"
)

var (
	cudaFile  = flag.String("cuda", "", "PTX or cubin that a compiler made from math.cu; empty means that NVRTC compiles it")
	emitGo    = flag.String("emit-go", "", "write the PTX of the Go kernels to this file and exit")
	emitCUDA  = flag.String("emit-cuda", "", "let NVRTC compile math.cu to this file and exit")
	turnCount = flag.Int("turns", 41, "turns for each function")
	threads   = flag.Int("threads", 1<<21, "threads of a launch")
	calls     = flag.Int("calls", 256, "calls by each thread")
	rows      = flag.String("rows", "", "regular expression of kernel names, such as '32$'")
)

func main() {
	flag.Parse()
	ok, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mathbench:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run() (ok bool, err error) {
	ours, err := compile()
	if err != nil {
		return false, err
	}
	if *emitGo != "" {
		return true, os.WriteFile(*emitGo, ours, 0o666)
	}
	theirs, from, err := counterpart()
	if err != nil {
		return false, err
	}
	if *emitCUDA != "" {
		return true, os.WriteFile(*emitCUDA, theirs, 0o666)
	}
	only, err := regexp.Compile(*rows)
	if err != nil {
		return false, err
	}
	d, err := driver.Open()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return compare(d, ours, theirs, from, only)
}

// counterpart returns the compiled math.cu and the name of the compiler.
func counterpart() (image []byte, from string, err error) {
	if *cudaFile != "" {
		image, err = os.ReadFile(*cudaFile)
		return image, *cudaFile, err
	}
	c, err := nvrtc.Open(nvrtc.WithoutCache())
	if err != nil {
		return nil, "", err
	}
	r, err := c.Compile(context.Background(), nvrtc.Program{Name: "math.cu", Source: cudaSource, Arch: nvrtc.Virtual(9, 0)})
	if err != nil {
		return nil, "", err
	}
	return r.Image(), fmt.Sprint("NVRTC ", c.Version()), nil
}
