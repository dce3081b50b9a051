// Command ptxfuzz compares the library's PTX checks with NVIDIA's ptxas. It prints, by
// family, the invalid PTX that the library accepts and the valid PTX that it rejects.
//
//	-mode mutants ROOT   seeded changes of the project's kernels, loaded on the emulator
//	-mode forms          instructions generated from the rules, most with a change
//	-mode build          like forms, but built with package build, for random or for the lowest versions
//	-mode cvt            every conversion with every rounding mode
//	-mode texts DIR...   whole files: *.ptx, and PTX in string constants of *.go
//	-mode lines FILE...  instructions, one per line: 8.4 sm_90a add.u32 %u1, %u2, %u3;
package main

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
)

func main() {
	mode := flag.String("mode", "mutants", "mutants, forms, build, cvt, texts or lines")
	ptxas := flag.String("ptxas", "", "paths of ptxas, separated by commas")
	seed := flag.Uint64("seed", 1, "of the random choices")
	n := flag.Int("n", 100, "how many mutants of each family, instructions of each name and version, or built instructions")
	examples := flag.Int("examples", 3, "how many disagreements to print for each family")
	only := flag.String("only", "", "instructions or families, separated by commas")
	after := flag.String("after", "", "only texts of PTX versions after this one")
	raise := flag.String("raise", "", "give the texts that are changed this .version, unless they have a newer one")
	flag.Parse()
	if err := run(*mode, *ptxas, *seed, *n, *examples, *only, *after, *raise, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "ptxfuzz:", err)
		os.Exit(1)
	}
}

func run(mode, ptxas string, seed uint64, n, examples int, only, after, raise string, args []string) error {
	var assemblers []*assembler
	for _, path := range strings.Split(ptxas, ",") {
		a, err := newAssembler(path)
		if err != nil {
			return err
		}
		assemblers = append(assemblers, a)
	}
	sort.Slice(assemblers, func(i, j int) bool {
		return assemblers[j].newest.AtLeast(assemblers[i].newest.Major, assemblers[i].newest.Minor)
	})
	switch mode {
	case "forms":
		return forms(assemblers, seed, n, examples, only, after)
	case "build":
		return built(assemblers, seed, n, examples)
	case "cvt":
		return cvt(assemblers, examples)
	case "texts":
		return texts(assemblers, examples, args)
	case "lines":
		return given(assemblers, args)
	case "mutants":
		root := "."
		if len(args) > 0 {
			root = args[0]
		}
		return compareMutants(assemblers, root, seed, n, examples, only, raise)
	}
	return fmt.Errorf("no mode %s", mode)
}
