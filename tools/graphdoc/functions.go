package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/purecuda/cuda/driver/cu"
)

// group is a set of functions, selected by name.
type group struct {
	title string
	names *regexp.Regexp
	not   string // prefix of names that do not belong to the group
}

var groups = []group{
	{"Graphs", regexp.MustCompile(`^cuGraph`), "cuGraphics"},
	{"Memory of graphs", regexp.MustCompile(`^cuDevice\w*GraphMem`), ""},
	{"User objects", regexp.MustCompile(`^cuUserObject`), ""},
	{"Capture", regexp.MustCompile(`^cuStream\w*Captur|^cuThreadExchangeStreamCaptureMode$`), ""},
}

func (g group) has(name string) bool {
	return g.names.MatchString(name) && (g.not == "" || !strings.HasPrefix(name, g.not))
}

type function struct {
	name  string
	group string
	since []int // CUDA versions that introduced the function's ABIs
}

// functions returns the functions of the groups, by group and name.
func functions() ([]function, error) {
	byName := make(map[string]*function)
	var all []*function
	for f := range cu.Functions() {
		i := slices.IndexFunc(groups, func(g group) bool { return g.has(f.Base()) })
		if i < 0 {
			continue
		}
		if byName[f.Base()] == nil {
			byName[f.Base()] = &function{name: f.Base(), group: groups[i].title}
			all = append(all, byName[f.Base()])
		}
		byName[f.Base()].since = append(byName[f.Base()].since, f.Since())
	}
	return sorted(groups, all)
}

func sorted(groups []group, all []*function) (list []function, err error) {
	for _, g := range groups {
		from := len(list)
		for _, f := range all {
			if f.group == g.title {
				slices.Sort(f.since)
				list = append(list, *f)
			}
		}
		if len(list) == from {
			return nil, fmt.Errorf("package driver/cu has no functions for %q", g.title)
		}
		slices.SortFunc(list[from:], func(a, b function) int { return strings.Compare(a.name, b.name) })
	}
	return list, nil
}

// baseOf returns the C name for a method of Driver: cuGraphAddNode for CuGraphAddNode and
// CuGraphAddNode_v12020.
func baseOf(method string) string {
	name, _, _ := strings.Cut(method, "_v")
	return "cu" + strings.TrimPrefix(name, "Cu")
}

// versions formats CUDA versions, oldest first.
func versions(since []int) string {
	text := make([]string, len(since))
	for i, v := range since {
		text[i] = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
	}
	return strings.Join(text, ", ")
}
