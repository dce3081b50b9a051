package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/purecuda/cuda/tools/internal/doc"
)

// allowed lists the licences, as SPDX identifiers, that are allowed for code in programs. They
// require only that programs include their text.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}

// dependency is a module and its use in this repository.
type dependency struct {
	module
	use     string // "programs", "tests", or the name of a module of this repository, such as tools
	licence string
	notice  bool
}

// licences writes or checks the table of dependencies. It fails if a module that is linked into
// programs has an unknown or forbidden licence.
func licences(o options) error {
	all, err := dependencies(o.root)
	if err != nil {
		return err
	}
	for _, d := range all {
		if d.use == "programs" && !slices.Contains(allowed, d.licence) {
			return fmt.Errorf("%s %s has the licence %q; what goes into programs may have %s", d.Path, d.Version, d.licence, strings.Join(allowed, ", "))
		}
		if d.licence == "" {
			return fmt.Errorf("%s %s (for %s) has no known licence", d.Path, d.Version, d.use)
		}
	}
	return doc.Write(filepath.Join(o.root, "docs", "dependencies.md"), []byte(table(all)), o.check, "make licences")
}

// dependencies lists the modules that packages of this repository import, on any
// platform.
func dependencies(root string) ([]dependency, error) {
	dirs, err := ownModules(root)
	if err != nil {
		return nil, err
	}
	var all []dependency
	for _, dir := range dirs {
		for _, tests := range []bool{false, true} {
			use := cmp.Or(dir, "programs")
			if tests {
				use = strings.TrimSpace(dir + " tests")
			}
			some, err := dependenciesOf(filepath.Join(root, dir), use, tests)
			if err != nil {
				return nil, err
			}
			all = merge(all, some)
		}
	}
	return all, nil
}

// ownModules returns the folders below root that have a go.mod file. The first is "", the
// root itself.
func ownModules(root string) ([]string, error) {
	out, err := command(root, nil, "git", "ls-files", "-co", "--exclude-standard", "--", "*go.mod")
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, f := range strings.Fields(string(out)) {
		if dir := strings.TrimSuffix(strings.TrimSuffix(f, "go.mod"), "/"); !strings.Contains(dir, "testdata") {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs, nil
}

// merge adds the modules in some to those in all. It omits a module that is already listed with
// use "programs" or with a use that includes the new one.
func merge(all, some []dependency) []dependency {
	for _, d := range some {
		if !slices.ContainsFunc(all, func(a dependency) bool {
			return a.Path == d.Path && a.Version == d.Version && (a.use == "programs" || strings.HasPrefix(d.use, a.use))
		}) {
			all = append(all, d)
		}
	}
	return all
}

func dependenciesOf(dir, use string, tests bool) ([]dependency, error) {
	seen := make(map[string]dependency)
	on := platforms
	if use != "programs" {
		on = on[:1] // tools run only on the first platform
	}
	for _, p := range on {
		list, err := goList(dir, p, "-deps", fmt.Sprint("-test=", tests), "-json=ImportPath,Standard,Module", "./...")
		if err != nil {
			return nil, err
		}
		for _, l := range list {
			m := l.Module
			if m == nil || m.Main || m.Replace != nil && m.Replace.Version == "" {
				continue // the package is in the standard library or in this repository
			}
			if seen[m.Path], err = licensed(*m, use); err != nil {
				return nil, err
			}
		}
	}
	return sorted(seen), nil
}

func sorted(seen map[string]dependency) []dependency {
	var all []dependency
	for _, d := range seen {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b dependency) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// licensed identifies the licence in a module's folder.
func licensed(m module, use string) (dependency, error) {
	d := dependency{module: m, use: use}
	if m.Dir == "" {
		return d, fmt.Errorf("%s %s is not in the module cache: run \"go mod download\"", m.Path, m.Version)
	}
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return d, err
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		d.notice = d.notice || strings.HasPrefix(name, "NOTICE")
		if e.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return d, err
		}
		d.licence = cmp.Or(d.licence, identify(text))
	}
	return d, nil
}

var blanks = regexp.MustCompile(`[\s*#/]+`)

// identify recognises a licence by phrases that no other licence contains.
func identify(text []byte) string {
	s := strings.ToLower(string(blanks.ReplaceAll(bytes.TrimSpace(text), []byte(" "))))
	has := func(words string) bool { return strings.Contains(s, words) }
	switch {
	case has("gnu general public license") || has("gnu lesser general public license"):
		return "" // these phrases never occur by accident
	case has("apache license version 2.0"):
		return "Apache-2.0"
	case has("mozilla public license version 2.0"):
		return "MPL-2.0"
	case has("redistribution and use in source and binary forms") && has("neither the name"):
		return "BSD-3-Clause"
	case has("redistribution and use in source and binary forms"):
		return "BSD-2-Clause"
	case has("permission to use, copy, modify, and or distribute") || has("permission to use, copy, modify, and distribute"):
		return "ISC"
	case has("permission is hereby granted, free of charge"):
		return "MIT"
	}
	return ""
}

func table(all []dependency) string {
	var b strings.Builder
	b.WriteString("# Dependencies\n\nThis page lists the modules on which this project depends, with their licences. `make licences` generates it from the\n" +
		"imports of packages and tests on all platforms, and from the licence texts in the module cache. Only the modules marked\n" +
		"\"programs\" are linked into a program that imports this module.\n\n" +
		"| module | version | licence | NOTICE file | needed by |\n|---|---|---|---|---|\n")
	for _, d := range all {
		fmt.Fprintf(&b, "| [`%s`](https://pkg.go.dev/%s@%s) | %s | %s | %s | %s |\n", d.Path, d.Path, d.Version, d.Version, d.licence, yes(d.notice), d.use)
	}
	return b.String()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
