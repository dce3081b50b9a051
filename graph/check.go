package graph

import (
	"fmt"
	"strings"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/access"
	"github.com/purecuda/cuda/internal/life"
)

// Checked is the result of Check.
type Checked struct {
	// Conflicts are pairs of nodes that may run at the same time although one writes what the other
	// accesses. They are in node order.
	Conflicts []Conflict
	// Truncated is set when the graph is too large to list all conflicts. Some then only appear
	// once the listed ones are resolved.
	Truncated bool
	// Unknown are the nodes that may access memory that the graph does not know about. Check does
	// not find their conflicts. Use Node.Declare to make their accesses known.
	Unknown []Unknown
}

// Unknown is a node whose memory accesses are not fully known.
type Unknown struct {
	Node   Node
	Reason string
}

// Conflict is memory that two unordered nodes access, at least one of them to write it.
type Conflict struct {
	A, B     Node          // A is the one that comes first in the graph's order
	OfA, OfB driver.Access // what each of them uses
	// From and To are the addresses of the first range of bytes that both access, without To.
	From, To uint64
	// Buffer and Size are the allocation that contains the range, 0 if the driver does not know it.
	Buffer uint64
	Size   uint64
}

// OK reports whether no conflict was found.
func (c Checked) OK() bool { return len(c.Conflicts) == 0 }

// Err returns nil if no conflict was found, else an error that describes them.
func (c Checked) Err() error {
	if c.OK() {
		return nil
	}
	return invalid("%v", c)
}

// String returns a line for each conflict and each unknown node.
func (c Checked) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d conflicts", len(c.Conflicts))
	if c.Truncated {
		b.WriteString(" and more")
	}
	for _, x := range c.Conflicts {
		fmt.Fprintf(&b, "\n%v", x)
	}
	for _, u := range c.Unknown {
		fmt.Fprintf(&b, "\n%v", u)
	}
	return b.String()
}

// String names both nodes, their access to which operand, and the bytes.
func (c Conflict) String() string {
	s := fmt.Sprintf("no order between %s, which %s, and %s, which %s: bytes ", c.A.describe(), does(c.OfA), c.B.describe(), does(c.OfB))
	if c.Size == 0 {
		return s + fmt.Sprintf("%#x to %#x", c.From, c.To)
	}
	return s + fmt.Sprintf("%d to %d of the %d at %#x", c.From-c.Buffer, c.To-c.Buffer, c.Size, c.Buffer)
}

// describe is String with the label.
func (n Node) describe() string {
	if n.Name() != "" {
		return n.String()
	}
	return fmt.Sprintf("%v (%s)", n, n.Label())
}

func does(a driver.Access) string {
	verb := "reads"
	switch a.Mode {
	case driver.Writes:
		verb = "writes"
	case driver.ReadsWrites:
		verb = "may read and write"
	}
	return verb + " " + a.What
}

// String returns one line.
func (u Unknown) String() string {
	return fmt.Sprintf("memory of %s is not known: %s", u.Node.describe(), u.Reason)
}

// Check looks for conflicts between nodes: they access the same bytes, at least one writes them,
// and no path of dependencies orders them. It finds all conflicts among the nodes whose accesses
// are known.
//
// Check queries the driver for the exact accesses of copies, fills, memory operations, allocations
// and frees. For kernels, the graph remembers the memory among the arguments of their launches,
// whether added, planned or captured. If the arguments of a kernel node in the driver differ, the
// node is Unknown. So are host functions, and kernels that were added without a launch or take
// addresses as numbers. Kernels are assumed to read and write their memory unless driver.In
// or driver.Out say otherwise.
//
// Check includes nested graphs and the bodies of conditional nodes. Of several bodies of a node
// only one runs at a time. A programmatic dependency counts as a dependency.
func (g *Graph) Check() (Checked, error) {
	if err := g.lock(); err != nil {
		return Checked{}, err
	}
	c := checker{}
	_, err := c.graph(g)
	found, err := c.result(err)
	g.mu.Unlock()
	g.alive()
	if err != nil {
		return Checked{}, fmt.Errorf("cannot check %v: %w", g, err)
	}
	return found, nil
}

// Declare declares further memory accesses of a node, for Check. The graph keeps the memory alive.
func (n Node) Declare(uses ...driver.Declared) error {
	if err := n.lock(); err != nil {
		return fmt.Errorf("cannot declare memory of %v: %w", n, err)
	}
	defer n.g.mu.Unlock()
	d, err := declaredOf(uses)
	if err != nil {
		return fmt.Errorf("cannot declare memory of node %d: %w", n.i, err)
	}
	if err := n.g.changeRefs().RetainLoose(d.refs); err != nil {
		return err
	}
	n.g.accesses.Declare(n.i, d.list)
	return nil
}

// declared are declared accesses, and the memory that they refer to.
type declared struct {
	item int // of a batch
	list []driver.Access
	refs []life.Ref
}

func declaredOf(uses []driver.Declared) (d declared, err error) {
	for i, u := range uses {
		a, err := access.Declared(u, i)
		if err != nil {
			return declared{}, err
		}
		d.list, d.refs = append(d.list, a), append(d.refs, u.Ref())
	}
	return d, nil
}
