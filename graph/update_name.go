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
