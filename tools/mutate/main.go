//go:build unix

// Command mutate measures how many errors the tests detect. It makes small breaking changes to the
// code, one at a time, and reports the changes for which no test fails.
//
//	go run -C tools ./mutate sample -root .. -seed 20261123 -n 600 -mutants mutants.jsonl
//	go run -C tools ./mutate run -root .. -mutants mutants.jsonl -results results.jsonl
//	go run -C tools ./mutate lines -root .. -at graph/exec.go:313,loader/latch.go:30 -mutants some.jsonl
//	go run -C tools ./mutate table -mutants mutants.jsonl -results results.jsonl
//
// It compiles all changes of the sample into the packages at once. An environment variable selects
// the change that is active in a test binary, so trying a change requires no compilation. The
// command runs only the tests that reach the change. It does not modify the source tree, because
// the compiler reads the changed files from an overlay.
//
// docs/robustness.md explains the results.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// packages lists the packages to change.
const packages = "./loader,./driver/cu,./driver,./driver/image,./driver/trace,./driver/cudatest,./driver/emulator,./driver/emulator/internal/vm,./graph,./ptx"

// apart maps a package to the other folders that contain tests of it.
var apart = map[string][]string{
	"graph": {
		"graph/internal/verify/condtest", "graph/internal/verify/drivertest", "graph/internal/verify/misusetest", "graph/internal/inflight",
		"graph/internal/verify/costtest", "graph/dataflow", "graph/internal/verify/modeltest", "graph/internal/verify/faulttest",
	},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: mutate sample|lines|run|table [flags]")
	}
	f := flag.NewFlagSet("mutate "+args[0], flag.ContinueOnError)
	var (
		root    = f.String("root", "..", "the root of the module")
		mutants = f.String("mutants", "mutants.jsonl", "the sample, one change per line")
		results = f.String("results", "results.jsonl", "what became of each; a run goes on where the file ends")
		pkgs    = f.String("packages", packages, "where changes are drawn from")
		seed    = f.Uint64("seed", 1, "of the random choice")
		n       = f.Int("n", 600, "how many changes")
		work    = f.String("work", "", "folder for test binaries and overlays (default: a temporary one)")
		retry   = f.String("retry", "", "states to try again, separated by commas: survived, timeout, unreached")
		only    = f.String("only", "", "run these changes alone: numbers separated by commas")
		with    = f.String("with", "", "test packages to try changes with that survived or were not reached, in place of their own: separated by commas")
		short   = f.Bool("short", true, "run tests with -short")
		at      = f.String("at", "", "lines whose changes are all tried, in place of a random choice: file:line, separated by commas")
		wait    = f.Duration("patience", 10*time.Second, "how long tests may take beyond 6 times their usual time")
		until   = f.Duration("for", 0, "stop after this time (0: when all is done)")
		same    = f.String("equivalent", "", "file of changes that alter nothing a program can see: key, tab, reason")
	)
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "sample":
		return drawSample(*root, split(*pkgs), *seed, *n, *mutants)
	case "lines":
		return listLines(*root, split(*pkgs), split(*at), *mutants)
	case "run":
		r := &runner{root: *root, work: *work, mutants: *mutants, results: *results, retry: split(*retry), only: split(*only), with: split(*with), short: *short, patience: *wait}
		if *until > 0 {
			r.deadline = time.Now().Add(*until)
		}
		return r.run()
	case "table":
		return writeTable(os.Stdout, *mutants, *results, *same)
	}
	return fmt.Errorf("unknown command %q: sample, lines, run or table", args[0])
}

func split(list string) []string {
	var parts []string
	for p := range strings.SplitSeq(list, ",") {
		if p = strings.TrimSpace(p); p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}
