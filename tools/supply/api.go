package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/purecuda/cuda/tools/internal/source"
)

// surface is an exported API. It maps each package, by its path in the module, to its sorted
// lines.
type surface map[string][]string

// api writes api/*.txt, one file per package. With -check it instead fails if a file would
// change. It also fails if a name exported by the last tag has been removed.
func api(o options) error {
	now, err := surfaceOf(o.root)
	if err != nil {
		return err
	}
	if o.check {
		err = now.compareFiles(filepath.Join(o.root, "api"))
	} else {
		err = now.write(filepath.Join(o.root, "api"))
	}
	if err != nil {
		return err
	}
	return now.compareTag(o)
}

// surfaceOf collects the API of the module in root on every platform.
func surfaceOf(root string) (surface, error) {
	on := make(map[string]map[string][]platform) // the platforms of each line, by package and line
	files := source.NewFiles()
	for _, p := range platforms {
		if err := collect(root, p, files, on); err != nil {
			return nil, fmt.Errorf("%v: %w", p, err)
		}
	}
	s := make(surface)
	for name, lines := range on {
		for line, where := range lines {
			s[name] = append(s[name], qualify(line, where)...)
		}
		slices.Sort(s[name])
	}
	return s, nil
}

// qualify returns the line itself if it is the same on every platform. Otherwise it returns one
// line for each platform that has the line, with the platform's name.
func qualify(line string, where []platform) []string {
	if len(where) == len(platforms) {
		return []string{line}
	}
	var all []string
	for _, p := range where {
		all = append(all, line+" ("+p.String()+")")
	}
	return all
}

func collect(root string, p platform, files *source.Files, on map[string]map[string][]platform) error {
	all, err := files.Declarations(source.Target{OS: p.os, Arch: p.arch, Tags: p.tags}, root)
	if err != nil {
		return err
	}
	for _, l := range all {
		name, ok := public(l)
		if !ok {
			continue
		}
		if on[name] == nil {
			on[name] = make(map[string][]platform)
		}
		for _, line := range declarations(l.Types) {
			on[name][line] = append(on[name][line], p)
		}
	}
	return nil
}

// public returns the path of a package in its module, and whether the module's users may import it.
func public(p source.Package) (string, bool) {
	name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, p.Module), "/")
	if p.Name == "main" || slices.Contains(strings.Split(name, "/"), "internal") || strings.HasPrefix(name, "examples") {
		return "", false
	}
	return name, true
}

// fileOf returns the name of the file for a package's API.
func fileOf(name string) string { return strings.ReplaceAll(name, "/", ".") + ".txt" }

func (s surface) write(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, lines := range s {
		text := strings.Join(lines, "\n") + "\n"
		if err := os.WriteFile(filepath.Join(dir, fileOf(name)), []byte(text), 0o666); err != nil {
			return err
		}
	}
	for _, stale := range s.stale(dir) {
		if err := os.Remove(stale); err != nil {
			return err
		}
	}
	return nil
}

// stale returns the files in dir whose packages no longer exist.
func (s surface) stale(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.txt"))
	return slices.DeleteFunc(files, func(f string) bool {
		is := func(name string) bool { return fileOf(name) == filepath.Base(f) }
		return filepath.Base(f) == removedFile || slices.ContainsFunc(slices.Collect(maps.Keys(s)), is)
	})
}

// compareFiles returns an error if the files in dir differ from this API.
func (s surface) compareFiles(dir string) error {
	was := make(surface)
	for name := range s {
		text, err := os.ReadFile(filepath.Join(dir, fileOf(name)))
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		was[name] = lines(string(text))
	}
	removed, added := was.minus(s), s.minus(was)
	for _, f := range s.stale(dir) {
		removed = append(removed, f)
	}
	if len(removed)+len(added) == 0 {
		return nil
	}
	return fmt.Errorf("the exported API is not what api/*.txt says; after a look at the difference, run \"make api\":\n%s",
		strings.Join(append(marked("-", removed), marked("+", added)...), "\n"))
}

func lines(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return l == "" || strings.HasPrefix(l, "#") })
}

func marked(mark string, lines []string) []string {
	var all []string
	for _, l := range lines {
		all = append(all, mark+" "+l)
	}
	return all
}

// minus returns the lines of s that are not in other, as "package: line".
func (s surface) minus(other surface) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		has := make(map[string]bool)
		for _, l := range other[name] {
			has[l] = true
		}
		for _, l := range s[name] {
			if !has[l] {
				all = append(all, name+": "+l)
			}
		}
	}
	return all
}
