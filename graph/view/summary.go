package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/purecuda/cuda/graph"
)

// Summary describes the size and shape of a graph. Nodes of nested graphs count only in Inside and
// Kinds.
type Summary struct {
	Nodes, Edges  int
	Roots, Leaves int            // nodes without dependencies, nodes without dependents
	Depth         int            // number of nodes on the longest path
	Width         int            // largest number of nodes at one depth
	Inside        int            // number of nodes in nested graphs, at any depth
	Kinds         map[string]int // number of nodes of each SnapshotNode.Kind, including nested graphs
}

// Summarize returns the Summary of a snapshot.
func Summarize(s *graph.Snapshot) Summary {
	f := Summary{Kinds: make(map[string]int)}
	if s == nil {
		return f
	}
	f.Nodes, f.Edges, f.Roots, f.Leaves = len(s.Nodes), len(s.Edges), len(roots(s)), len(leaves(s))
	width := make([]int, len(s.Nodes))
	for _, l := range levels(s) {
		width[l]++
		f.Depth, f.Width = max(f.Depth, l+1), max(f.Width, width[l])
	}
	all := 0
	for n := range s.All() {
		f.Kinds[n.Kind]++
		all++
	}
	f.Inside = all - f.Nodes
	return f
}

// String returns two lines: the shape of the graph, and the number of nodes of each kind.
func (s Summary) String() string {
	shape := fmt.Sprintf("%s, %s, %s, %s, depth %d, width %d",
		plural(s.Nodes, "node"), plural(s.Edges, "edge"), plural(s.Roots, "root"), leafCount(s.Leaves), s.Depth, s.Width)
	if s.Inside > 0 {
		shape += fmt.Sprintf(", %s inside nodes", plural(s.Inside, "node"))
	}
	if len(s.Kinds) == 0 {
		return shape
	}
	return shape + "\n" + s.kinds()
}

func (s Summary) kinds() string {
	kinds := slices.SortedFunc(maps.Keys(s.Kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Kinds[b], s.Kinds[a]), cmp.Compare(a, b))
	})
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%d × %s", s.Kinds[k], k)
	}
	return strings.Join(kinds, ", ")
}

func leafCount(n int) string {
	if n == 1 {
		return "1 leaf"
	}
	return fmt.Sprintf("%d leaves", n)
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
