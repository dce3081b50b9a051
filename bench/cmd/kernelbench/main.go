// Command kernelbench compares, on a GPU, the speed of kernels in Go with that of the same algorithms
// in CUDA C++. go2ptx compiles the Go kernels with and without bounds checks. nvcc or NVRTC compiles
// the CUDA C++ kernels. bench/kernels.sh builds the command and the counterparts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"

	"github.com/purecuda/cuda/bench/kernels"
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/go2ptx"
	"github.com/purecuda/cuda/ptx/nvrtc"
)

var (
	cudaFile = flag.String("cuda", "", "PTX that a compiler made from cuda/all.cu")
	emitGo   = flag.String("emit-go", "", "write the PTX of the kernels in Go to this file and exit")
	bounds   = flag.Bool("bounds", true, "with -emit-go, check bounds")
	emitCUDA = flag.String("emit-cuda", "", "let NVRTC compile cuda/all.cu, in the folder that the argument names, to this file and exit")
	turns    = flag.Int("turns", 41, "turns for each kernel and size")
	rows     = flag.String("rows", "", "regular expression of kernel names")
	target   = flag.String("target", "", "oldest architecture of the kernels in Go, such as sm_80")
	loads    = flag.Int("loads", 11, "turns in which the driver compiles both modules")
)

func main() {
	flag.Parse()
	ok, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kernelbench:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run() (ok bool, err error) {
	if *emitCUDA != "" {
		return true, compileCUDA(flag.Arg(0), *emitCUDA)
	}
	if *emitGo != "" {
		out, err := kernels.Compile(go2ptx.Config{NoBounds: !*bounds, Target: *target})
		if err != nil {
			return false, err
		}
		return true, os.WriteFile(*emitGo, out.PTX, 0o666)
	}
	var texts [3][]byte
	for i, unchecked := range []bool{true, false} {
		out, err := kernels.Compile(go2ptx.Config{NoBounds: unchecked, Target: *target})
		if err != nil {
			return false, err
		}
		texts[i] = out.PTX
	}
	if texts[cuda], err = os.ReadFile(*cudaFile); err != nil {
		return false, err
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
	return compare(d, texts, *cudaFile, only)
}

func compileCUDA(folder, to string) error {
	source, err := os.ReadFile(folder + "/all.cu")
	if err != nil {
		return err
	}
	c, err := nvrtc.Open(nvrtc.WithoutCache())
	if err != nil {
		return err
	}
	r, err := c.Compile(context.Background(), nvrtc.Program{Name: "all.cu", Source: string(source), Arch: nvrtc.Virtual(8, 0), Options: []string{"-I" + folder}})
	if err != nil {
		return err
	}
	return os.WriteFile(to, r.Image(), 0o666)
}
