package graph

import (
	"slices"
	"time"
)

// order returns the places of the nodes such that each comes after those that
// it depends on. Nodes in a cycle, which no graph that can run has, are left out.
func (p *picture) order() []int {
	waits := make([]int, len(p.nodes))
	after := make([][]int, len(p.nodes))
	for _, e := range p.edges {
		waits[e.to]++
		after[e.from] = append(after[e.from], e.to)
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

// critical returns the places of the nodes of the longest path, where a node is
// as long as length says, and the length of the path.
func (p *picture) critical(length func(Node) time.Duration) (path []int, total time.Duration) {
	until := make([]time.Duration, len(p.nodes)) // the end of the longest path to a node
	came := make([]int, len(p.nodes))            // by way of which node
	last := -1
	for _, i := range p.order() {
		came[i] = -1
		for _, from := range p.after[i] {
			if came[i] < 0 || until[from] > until[came[i]] {
				came[i] = from
			}
		}
		until[i] = length(p.nodes[i].Node)
		if came[i] >= 0 {
			until[i] += until[came[i]]
		}
		if last < 0 || until[i] > until[last] {
			last = i
		}
	}
	for i := last; i >= 0; i = came[i] {
		path = append(path, i)
	}
	if last >= 0 {
		total = until[last]
	}
	slices.Reverse(path)
	return path, total
}

// levels returns for each node how many nodes the longest path to it has before
// it.
func (p *picture) levels() []int {
	levels := make([]int, len(p.nodes))
	for _, i := range p.order() {
		for _, from := range p.after[i] {
			levels[i] = max(levels[i], levels[from]+1)
		}
	}
	return levels
}
