// Command supply reports on what is shipped: the exported API and its compatibility with the last
// tag, the modules that are linked into programs, and their licences.
//
//	go run -C tools ./supply api -root ..
//
//	supply api [-check]         writes or checks api/*.txt and compares with the last tag
//	supply licences [-check]    writes or checks docs/dependencies.md
//	supply size                 prints the size of the zip that "go get" downloads, and
//	                            fails if it is too large
//	supply sbom [PROGRAM ...]   prints a bill of materials (SPDX 2.3, JSON) of the
//	                            library, or of programs that the go command built
//
// All commands accept -root, the repository's root.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "supply:", err)
		os.Exit(1)
	}
}

type options struct {
	root  string
	check bool
	args  []string
	out   io.Writer
}

var commands = map[string]func(options) error{"api": api, "licences": licences, "sbom": sbom, "size": size}

func run(args []string, out io.Writer) error {
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("use api, licences, sbom or size")
	}
	o := options{out: out}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&o.root, "root", ".", "the repository's `folder`")
	flags.BoolVar(&o.check, "check", false, "write nothing, fail if something would change")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	o.args = flags.Args()
	return commands[args[0]](o)
}
