// Command print prints random kernels, each as a file of its own with a zero byte after it. The
// benchmark of package go2ptx compiles them.
//
//	go run ./randgo/print NUMBER
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/verify/randgo"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: print NUMBER")
		os.Exit(2)
	}
	n, err := strconv.ParseUint(os.Args[1], 10, 32)
	if err != nil {
		fmt.Fprintln(os.Stderr, "print:", err)
		os.Exit(2)
	}
	for i := range n {
		fmt.Print(randgo.File("random", []*randgo.Kernel{randgo.New(fmt.Sprintf("k%d", i), i)}), "\x00")
	}
}
