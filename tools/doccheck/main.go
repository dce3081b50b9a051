// Command doccheck fails if an exported name of the library has no comment.
//
//	go run -C tools ./doccheck -root ..
//
// It checks the names that pkg.go.dev shows: the constants, variables, functions, types and
// methods of every package that is neither internal nor a command. It includes names for all
// systems. A comment on a group of constants or variables counts for the whole group.
//
// With -listed it also fails if an example is never run, even in an internal package. See
// listed.go.
//
// With -returns it also fails for a test that passes by returning early. See returns.go.
//
// With -fields it also fails for an undocumented struct field, except in generated files.
// With -examples it also fails for a main type without a runnable example. See examples.go.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", "..", "the folder of the library's module")
	examples := flag.Bool("examples", false, "also fail for a main type without an example")
	fields := flag.Bool("fields", false, "also fail for a field without a comment")
	runs := flag.Bool("listed", false, "also fail for an example that go test does not run")
	silent := flag.Bool("returns", false, "also fail for a test that returns early and passes")
	flag.Parse()
	err := run(*root, *fields, *examples)
	if *runs {
		n, listErr := listed(*root, notRun)
		if err = errors.Join(err, listErr); err == nil {
			fmt.Printf("doccheck: go test runs all %d examples, except %d that are exempt\n", n, len(notRun))
		}
	}
	if *silent {
		err = errors.Join(err, returns(*root))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string, fields, examples bool) error {
	pkgs, err := load(root)
	if err != nil {
		return err
	}
	if len(pkgs) == 0 {
		return fmt.Errorf("no package below %s", root)
	}
	var errs []error
	names := 0
	for _, p := range pkgs {
		r := p.check(fields)
		names += r.names
		errs = append(errs, r.errs...)
		if examples {
			errs = append(errs, p.examples()...)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w\n%d of %d names in %d packages lack something", errors.Join(errs...), len(errs), names, len(pkgs))
	}
	fmt.Printf("doccheck: %d exported names in %d packages have a comment%s\n", names, len(pkgs), also(examples))
	return nil
}

func also(examples bool) string {
	if examples {
		return ", and every main type an example"
	}
	return ""
}
