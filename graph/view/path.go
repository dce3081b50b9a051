package view

import (
	"slices"
	"time"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
)

// CriticalPath returns the path from a root to a leaf with the largest sum of times, and that sum.
// Shortening these nodes makes the graph faster. s must come from Graph.Profile. A child graph
// counts as one node of the path. The sum may exceed the duration of an ordinary run, in which no
// events separate the kernels and the device prepares a kernel while the previous one still runs.
func CriticalPath(s *graph.Snapshot) (path []*graph.SnapshotNode, total time.Duration) {
	if s == nil {
		return nil, 0
	}
	until := make([]time.Duration, len(s.Nodes)) // for each node, the time of the longest path to its end
	came := make([]int, len(s.Nodes))            // for each node, the previous node on its longest path
	before := runsAfter(s)
	last := -1
	for _, i := range order(s) {
		came[i] = -1
		for _, from := range before[i] {
			if came[i] < 0 || until[from] > until[came[i]] {
				came[i] = from
			}
		}
		until[i] = s.Nodes[i].Time
		if came[i] >= 0 {
			until[i] += until[came[i]]
		}
		if last < 0 || until[i] >= until[last] { // of equal ones the later: a leaf may take no time
			last = i
		}
	}
	for i := last; i >= 0; i = came[i] {
		path = append(path, &s.Nodes[i])
	}
	if last >= 0 {
		total = until[last]
	}
	slices.Reverse(path)
	return path, total
}

// levels returns, for each node, the number of nodes before it on the longest path to it.
func levels(s *graph.Snapshot) []int {
	levels, before := make([]int, len(s.Nodes)), runsAfter(s)
	for _, i := range order(s) {
		for _, from := range before[i] {
			levels[i] = max(levels[i], levels[from]+1)
		}
	}
	return levels
}

// order returns the indices of the nodes so that each node comes after its dependencies. It omits
// nodes in a cycle, which cannot exist in a graph that runs.
func order(s *graph.Snapshot) []int {
	waits := make([]int, len(s.Nodes))
	after := make([][]int, len(s.Nodes))
	for _, e := range s.Edges {
		waits[e.To]++
		after[e.From] = append(after[e.From], e.To)
	}
	var order []int
	for i, n := range waits {
		if n == 0 {
			order = append(order, i)
		}
	}
	for at := 0; at < len(order); at++ {
		for _, to := range after[order[at]] {
			if waits[to]--; waits[to] == 0 {
				order = append(order, to)
			}
		}
	}
	return order
}

// runsAfter returns, for each node, the indices of its dependencies.
func runsAfter(s *graph.Snapshot) [][]int {
	before := make([][]int, len(s.Nodes))
	for _, e := range s.Edges {
		before[e.To] = append(before[e.To], e.From)
	}
	return before
}

func roots(s *graph.Snapshot) []int {
	return ends(s, func(e graph.SnapshotEdge) int { return e.To })
}

func leaves(s *graph.Snapshot) []int {
	return ends(s, func(e graph.SnapshotEdge) int { return e.From })
}

// ends returns the indices of all nodes except those that the function end returns for some edge.
func ends(s *graph.Snapshot, end func(graph.SnapshotEdge) int) (places []int) {
	has := make([]bool, len(s.Nodes))
	for _, e := range s.Edges {
		has[end(e)] = true
	}
	for i, h := range has {
		if !h {
			places = append(places, i)
		}
	}
	return places
}

// programmatic reports whether an edge lets its second kernel begin before the first has ended.
func programmatic(e graph.SnapshotEdge) bool {
	return cu.CUgraphDependencyType(e.Data.Type) == cu.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
}
