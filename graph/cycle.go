package graph

import (
	"slices"
	"strings"
)

// cycle returns nodes that run after one another in a circle, the first one again
// at the end, or nil if there are none. The graph is locked.
func (g *Graph) cycle() []Node {
	edges, err := g.listedEdges()
	if err != nil {
		return nil // whoever asks has an error to report already
	}
	after := make(map[Node][]Node)
	for _, e := range edges {
		after[e.From] = append(after[e.From], e.To)
	}
	const onPath, done = 1, 2
	state := make(map[Node]int)
	for _, e := range edges {
		path := []Node{e.From} // and for each of them how many of its edges were followed
		next := []int{0}
		if state[e.From] == done {
			continue
		}
		state[e.From] = onPath
		for len(path) > 0 {
			last := len(path) - 1
			n := path[last]
			if next[last] == len(after[n]) {
				state[n] = done
				path, next = path[:last], next[:last]
				continue
			}
			to := after[n][next[last]]
			next[last]++
			switch state[to] {
			case onPath:
				return append(path[slices.Index(path, to):], to)
			case 0:
				state[to] = onPath
				path, next = append(path, to), append(next, 0)
			}
		}
	}
	return nil
}

// circle names the nodes of a cycle, "" for none.
func circle(nodes []Node) string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.String()
	}
	return strings.Join(names, " → ")
}
