package emulator

import (
	"fmt"
	"os"
	"strings"

	"github.com/purecuda/cuda/driver/cu"
)

// cuGraphDebugDotPrint writes the graph in Graphviz format. With any flag, nodes show their
// parameters.
func cuGraphDebugDotPrint(c call) result {
	g, r := graphAt(c, 0)
	if r != success {
		return r
	}
	path, ok := c.text(1)
	if !ok {
		return errInvalidValue
	}
	var b strings.Builder
	b.WriteString("digraph dot {\n")
	g.dot(&b, "graph_1", c.Uint32(2) != 0)
	b.WriteString("}\n")
	if os.WriteFile(path, []byte(b.String()), 0o666) != nil {
		return cu.CUDA_ERROR_OPERATING_SYSTEM
	}
	return success
}

// dot writes a cluster for the graph and for each graph in it.
func (g *graph) dot(b *strings.Builder, name string, details bool) {
	fmt.Fprintf(b, "subgraph cluster_%s {\nlabel=%q\n", name, name)
	for i, n := range g.nodes {
		id := fmt.Sprintf("%s_node_%d", name, i)
		label := fmt.Sprintf("%d\n%s", i, nodeName(n.params))
		if details {
			label += "\n" + nodeDetail(n.params)
		}
		fmt.Fprintf(b, "%q [shape=\"box\", label=%q]\n", id, label)
		for _, d := range n.deps {
			fmt.Fprintf(b, "\"%s_node_%d\" -> %q\n", name, d.node.position(), id)
		}
		if o, ok := n.params.(nested); ok {
			for j, inner := range o.graphs() {
				inner.dot(b, fmt.Sprintf("%s_%d_%d", name, i, j), details)
			}
		}
	}
	b.WriteString("}\n")
}

func (n *node) position() int {
	for i, m := range n.graph.nodes {
		if m == n {
			return i
		}
	}
	return -1
}

func nodeName(p nodeParams) string {
	if k, ok := p.(*kernelNode); ok {
		return k.fn.code.Name()
	}
	return strings.TrimPrefix(p.kind().String(), "CU_GRAPH_NODE_TYPE_")
}

func nodeDetail(p nodeParams) string {
	switch n := p.(type) {
	case *kernelNode:
		return fmt.Sprintf("<<<%v,%v,%d>>>", n.grid, n.block, n.shared)
	case *copyNode:
		return fmt.Sprintf("%d bytes", n.extent.Bytes())
	case *fillNode:
		return fmt.Sprintf("%#x = %#x, %d x %d of %d bytes", n.addr, n.value, n.width, n.height, n.element)
	case *allocNode:
		return fmt.Sprintf("%d bytes at %#x", n.size, n.addr)
	case *freeNode:
		return fmt.Sprintf("%#x", n.alloc.addr)
	}
	return ""
}
