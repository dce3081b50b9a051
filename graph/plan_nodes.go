package graph

// Nodes are the nodes that AddPlan added, in the order of the plan's items. It is a small value
// that refers to the graph.
type Nodes struct {
	g        *Graph
	first, n uint32
}

// Len returns the number of nodes, including those destroyed since.
func (s Nodes) Len() int { return int(s.n) }

// At returns the node of item i. It returns the zero Node if there is no such item, if the node was
// destroyed, or if the graph is closed.
func (s Nodes) At(i int) Node {
	if i < 0 || i >= int(s.n) {
		return Node{}
	}
	s.g.lockLatch()
	defer s.g.mu.Unlock()
	return s.at(uint32(i))
}

// at is At under the lock of the graph.
func (s Nodes) at(i uint32) Node {
	i += s.first
	if int(i) >= len(s.g.raws) || s.g.raws[i] == 0 {
		return Node{}
	}
	return Node{s.g, i}
}
