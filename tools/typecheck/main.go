// Command typecheck checks that all packages and tests compile for other systems and with other
// build tags. It parses and type-checks everything from source, including the standard library, but
// does not compile it. That takes about two seconds per target, while "go vet" and "go build" take
// forty.
//
//	go run -C tools ./typecheck -root .. linux/arm64 windows/amd64 linux/amd64/static
//
// It does not find problems that only the compiler, the assembler, the linker or vet can find. So
// "make cross" also vets package loader and links the quickstart.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/purecuda/cuda/tools/internal/source"
)

func main() {
	root := flag.String("root", ".", "the root of the main module")
	modules := flag.String("modules", "", "other modules to check, as folders below the root with commas between them")
	tests := flag.Bool("tests", true, "check tests too")
	flag.Parse()
	folders := []string{*root}
	for m := range strings.SplitSeq(*modules, ",") {
		if m != "" {
			folders = append(folders, filepath.Join(*root, m))
		}
	}
	if err := run(folders, flag.Args(), *tests); err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(1)
	}
}

// run checks all targets, with one goroutine per processor.
func run(folders, names []string, tests bool) error {
	if len(names) == 0 {
		return errors.New("name targets, such as linux/arm64 or linux/amd64/static")
	}
	var targets []source.Target
	for _, name := range names {
		t, err := source.ParseTarget(name)
		if err != nil {
			return err
		}
		targets = append(targets, t)
	}
	files := source.NewFiles()
	check, what := files.Everything, "packages and tests"
	if !tests {
		check, what = files.Code, "packages"
	}
	errs := make([]error, len(targets))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for i, t := range targets {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			all, err := check(t, folders...)
			if err == nil {
				fmt.Printf("typecheck: %s: %d %s\n", t, len(all), what)
			}
			errs[i] = err
		})
	}
	running.Wait()
	return errors.Join(errs...)
}
