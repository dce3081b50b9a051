package graph

import (
	"fmt"
)

// node names the node as it is called.
func (r UpdateResult) node() string {
	if r.Name == "" || r.Name == r.Node.Name() {
		return r.Node.String()
	}
	return fmt.Sprintf("%v (%s)", r.Node, r.Name)
}

// called is the name of a node of a graph that is locked, or its kernel's. It is
// for messages: what cannot be told is "".
func (n Node) called() string {
	if n.IsZero() {
		return ""
	}
	var t Type
	if err := n.g.d.CuGraphNodeGetType(n.raw, &t); err != nil {
		return n.Name()
	}
	name, err := n.shownName(t)
	if err != nil {
		return ""
	}
	return name
}
