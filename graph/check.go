package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/access"
	"github.com/purecuda/cuda/internal/life"
)

// Checked is the result of [Graph.Check].
type Checked struct {
	// Conflicts are pairs of nodes that may run at the same time although one writes memory that the
	// other accesses. They are sorted by graph and node.
	Conflicts []Conflict
	// Truncated reports that the graph is too large to list all conflicts. Further conflicts may
	// appear once the listed ones are resolved.
	Truncated bool
	// Unknown are the nodes whose memory accesses are not fully known. Check may miss conflicts with
	// them. Use Node.Declare to declare their accesses.
	Unknown []Unknown
}

// Unknown is a node whose memory accesses are not fully known.
type Unknown struct {
	Node   Node
	Reason string
}

// Conflict is memory that two unordered nodes access and at least one writes.
type Conflict struct {
	A, B     Node          // A comes first in the graph's order
	OfA, OfB driver.Access // each node's access
	// From and To are the bounds of the first range of addresses that both nodes access. To is
	// exclusive.
	From, To uint64
	// Buffer and Size are the address and size of the allocation that contains the range, or 0 if
	// the driver reports no allocation.
	Buffer uint64
	Size   uint64
}

// OK reports whether no conflict was found.
func (c Checked) OK() bool { return len(c.Conflicts) == 0 }

// Err returns an error that describes the conflicts, or nil if there are none.
func (c Checked) Err() error {
	if c.OK() {
		return nil
	}
	return invalid("%v", c)
}

// String returns the number of conflicts, then a line for each conflict and each unknown node.
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

// String names the nodes, their kinds of access, the operands and the bytes.
func (c Conflict) String() string {
	s := fmt.Sprintf("no order between %s, which %s, and %s, which %s: bytes ", c.A.describe(), does(c.OfA), c.B.describe(), does(c.OfB))
	if c.Size == 0 {
		return s + fmt.Sprintf("%#x to %#x", c.From, c.To)
	}
	return s + fmt.Sprintf("%d to %d of the %d at %#x", c.From-c.Buffer, c.To-c.Buffer, c.Size, c.Buffer)
}

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

// String describes the node and its unknown access in one line.
func (u Unknown) String() string {
	return fmt.Sprintf("memory of %s is not known: %s", u.Node.describe(), u.Reason)
}

// Check finds conflicts between nodes. Two nodes conflict if they access the same bytes, at least
// one writes them, and no path of dependencies orders them. Check finds all conflicts among the
// nodes whose accesses are known, unless the result is Truncated.
//
// Check queries the driver for the exact accesses of copies, fills, memory operations, allocations
// and frees. For kernels, it uses the memory among the launch arguments, which the graph recorded
// when the launch was added, planned or captured. If the arguments of a kernel node in the driver
// differ, the node is Unknown. Host functions are also Unknown, as are kernels that were added
// without a launch or have addresses passed as numbers. Kernels are assumed to read and write their
// memory unless driver.In or driver.Out narrows that.
//
// Check includes nested graphs and the bodies of conditional nodes. Only one body of a conditional
// node runs at a time. A programmatic dependency orders its nodes like any other.
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

// Declare declares further memory accesses of a node, for Check. The graph retains the memory.
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

type declared struct {
	item int // index in a batch
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

// checker flattens a graph and its nested graphs. Each node is one vertex. A node with nested
// graphs has a first and a last vertex, with the nested vertices between them.
type checker struct {
	nodes    []Node  // for each vertex, its node
	after    [][]int // for each vertex, the vertices that it runs after
	graphs   []*Graph
	uses     []access.StepAccess
	unknowns []Unknown
	allocs   map[uint64]uint64 // sizes of the graph's allocations, by address
	d        *driver.Driver
}

func (c *checker) vertex(n Node) int {
	c.nodes, c.after = append(c.nodes, n), append(c.after, nil)
	return len(c.nodes) - 1
}

func (c *checker) order(from, to int) { c.after[to] = append(c.after[to], from) }

func (c *checker) unknown(n Node, reason string) {
	c.unknowns = append(c.unknowns, Unknown{n, reason})
}

// ends are the first and the last vertex of a node.
type ends struct{ first, last int }

// graph adds a graph and returns the vertices of its nodes. The caller must hold the graph's lock.
func (c *checker) graph(g *Graph) ([]ends, error) {
	c.d, c.graphs = g.d, append(c.graphs, g)
	nodes, err := g.listed()
	if err != nil {
		return nil, err
	}
	place := make(map[cu.CUgraphNode]int, len(nodes))
	all := make([]ends, len(nodes))
	kernels, err := g.kernelSets(nodes)
	if err != nil {
		return nil, err
	}
	for i, n := range nodes {
		place[n.handle()] = i
		if all[i], err = c.node(n, kernels); err != nil {
			return nil, err
		}
	}
	from, to, _, err := g.rawEdgeLists()
	if err != nil {
		return nil, err
	}
	for i := range from {
		c.order(all[place[from[i]]].last, all[place[to[i]]].first)
	}
	return all, nil
}

func (c *checker) node(n Node, k *kernelNodes) (ends, error) {
	var t Type
	if err := n.g.d.CuGraphNodeGetType(n.handle(), &t); err != nil {
		return ends{}, err
	}
	v := c.vertex(n)
	inside, err := n.graphsInside(t)
	switch {
	case err != nil:
		return ends{}, err
	case len(inside) > 0:
		return c.bodies(n, v, inside)
	case t == cu.CU_GRAPH_NODE_TYPE_CONDITIONAL:
		c.unknown(n, "its bodies were not made by this package")
	}
	return ends{v, v}, c.leaf(n, t, v, k)
}

// bodies adds the graphs nested in a node in sequence, because the bodies of a conditional node
// never run concurrently.
func (c *checker) bodies(n Node, first int, bodies []*Graph) (ends, error) {
	at := first
	for _, b := range bodies {
		inner, err := c.graph(b)
		if err != nil {
			return ends{}, err
		}
		next := c.vertex(n)
		c.order(at, next)
		for _, e := range inner {
			c.order(at, e.first)
			c.order(e.last, next)
		}
		at = next
	}
	return ends{first, at}, nil
}

func (c *checker) leaf(n Node, t Type, v int, k *kernelNodes) error {
	declared := n.g.accesses.DeclaredUses(n.i)
	for _, a := range declared {
		c.use(v, a)
	}
	switch t {
	case cu.CU_GRAPH_NODE_TYPE_KERNEL:
		return c.kernel(n, v, k, len(declared) > 0)
	case cu.CU_GRAPH_NODE_TYPE_MEMCPY:
		return c.copy(n, v)
	case cu.CU_GRAPH_NODE_TYPE_MEMSET:
		return c.fill(n, v)
	case cu.CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return c.memOp(n, v)
	case cu.CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return c.alloc(n, v)
	case cu.CU_GRAPH_NODE_TYPE_MEM_FREE:
		return c.free(n, v)
	case cu.CU_GRAPH_NODE_TYPE_HOST:
		if len(declared) == 0 {
			c.unknown(n, "it is a host function, and nothing was declared")
		}
	}
	return nil
}

func (c *checker) use(v int, a driver.Access) {
	if a.Bytes > 0 && a.Mode != 0 {
		c.uses = append(c.uses, access.StepAccess{Step: v, Access: a})
	}
}

func (c *checker) kernel(n Node, v int, k *kernelNodes, declared bool) error {
	f := k.sets[n.i]
	if f.Set == nil {
		if !declared {
			c.unknown(n, "it was not made from a known launch")
		}
		return nil
	}
	for _, a := range f.List() {
		c.use(v, a)
	}
	arg, found, err := c.address(f, k.params[n.i])
	if found && !declared {
		c.unknown(n, fmt.Sprintf("%s is an address of device memory about which nothing else is known", f.Kernel.ArgName(arg)))
	}
	return err
}

// address returns the first argument that f does not cover and whose 8-byte value is an address in
// device memory. Such a value was passed as a number.
func (c *checker) address(f access.Found, params *cu.CUDA_KERNEL_NODE_PARAMS) (arg int, found bool, err error) {
	list, _ := f.Kernel.Params()
	for i, p := range list {
		if p.Size != 8 || p.Type == ".f64" || f.Covers(i) || params.KernelParams == nil {
			continue
		}
		_, size, err := c.allocation(access.Argument(params, i))
		if err != nil || size > 0 {
			return i, err == nil, err
		}
	}
	return 0, false, nil
}

// allocation returns the device allocation that contains an address, or zeros if none does.
func (c *checker) allocation(addr uint64) (base, size uint64, err error) {
	if addr == 0 {
		return 0, 0, nil
	}
	var at driver.CUdeviceptr
	var n uintptr
	err = c.d.CuMemGetAddressRange(&at, &n, driver.CUdeviceptr(addr))
	switch resultOf(err) {
	case driver.CUDA_ERROR_NOT_FOUND, driver.CUDA_ERROR_INVALID_VALUE, driver.CUDA_ERROR_NOT_SUPPORTED:
		return 0, 0, nil
	}
	return uint64(at), uint64(n), err
}

func (c *checker) copy(n Node, v int) error {
	var p cu.CUDA_MEMCPY3D
	if err := n.g.d.CuGraphMemcpyNodeGetParams(n.handle(), &p); err != nil {
		return err
	}
	dst := copyEnd(p.DstMemoryType, p.DstDevice, p.DstHost)
	src := copyEnd(p.SrcMemoryType, p.SrcDevice, p.SrcHost)
	if dst == 0 || src == 0 {
		c.unknown(n, "it copies to or from an array")
	}
	rows := func(a driver.Access, x, y, z, pitch, height uintptr) {
		if a.Addr == 0 {
			return
		}
		pitch, height = max(pitch, x+p.WidthInBytes), max(height, y+p.Height)
		a.Addr += uint64((z*height+y)*pitch + x)
		a.SetRows(p.WidthInBytes, pitch, p.Height, height*pitch, p.Depth)
		c.use(v, a)
	}
	rows(driver.Access{Addr: dst, Mode: driver.Writes, What: "destination"}, p.DstXInBytes, p.DstY, p.DstZ, p.DstPitch, p.DstHeight)
	rows(driver.Access{Addr: src, Mode: driver.Reads, Arg: 1, What: "source"}, p.SrcXInBytes, p.SrcY, p.SrcZ, p.SrcPitch, p.SrcHeight)
	return nil
}

// copyEnd returns the address of one end of a copy, or 0 for an array.
func copyEnd(t cu.CUmemorytype, dev driver.CUdeviceptr, host unsafe.Pointer) uint64 {
	switch t {
	case cu.CU_MEMORYTYPE_DEVICE, cu.CU_MEMORYTYPE_UNIFIED:
		return uint64(dev)
	case cu.CU_MEMORYTYPE_HOST:
		return uint64(uintptr(host))
	}
	return 0
}

func (c *checker) fill(n Node, v int) error {
	var p cu.CUDA_MEMSET_NODE_PARAMS
	if err := n.g.d.CuGraphMemsetNodeGetParams(n.handle(), &p); err != nil {
		return err
	}
	a := driver.Access{Addr: uint64(p.Dst), Mode: driver.Writes, What: "destination"}
	a.SetRows(p.Width*uintptr(p.ElementSize), p.Pitch, p.Height, 0, 1)
	c.use(v, a)
	return nil
}

// memOp adds the words that are written. It skips waits, because a wait for a word is itself the
// synchronization with the write.
func (c *checker) memOp(n Node, v int) error {
	var p cu.CUDA_BATCH_MEM_OP_NODE_PARAMS
	if err := n.g.d.CuGraphBatchMemOpNodeGetParams(n.handle(), &p); err != nil {
		return err
	}
	for i, step := range unsafe.Slice(p.ParamArray, p.Count) {
		a := driver.Access{Mode: driver.Writes, Arg: int32(i), What: fmt.Sprintf("the word of step %d", i)}
		switch *step.Operation() {
		case cu.CU_STREAM_MEM_OP_WRITE_VALUE_64:
			a.Bytes = 8
		case cu.CU_STREAM_MEM_OP_WRITE_VALUE_32:
			a.Bytes = 4
		default:
			continue
		}
		a.Addr = uint64(step.WriteValue().Address)
		c.use(v, a)
	}
	return nil
}

// alloc adds an allocation as a write, because nothing may use the memory before the allocation.
func (c *checker) alloc(n Node, v int) error {
	var p cu.CUDA_MEM_ALLOC_NODE_PARAMS
	if err := n.g.d.CuGraphMemAllocNodeGetParams(n.handle(), &p); err != nil {
		return err
	}
	if c.allocs == nil {
		c.allocs = make(map[uint64]uint64)
	}
	c.allocs[uint64(p.Dptr)] = uint64(p.Bytesize)
	c.use(v, driver.Access{Addr: uint64(p.Dptr), Bytes: uint64(p.Bytesize), Mode: driver.Writes, What: "memory that it allocates"})
	return nil
}

// free adds a free as a write, because nothing may use the memory after the free.
func (c *checker) free(n Node, v int) error {
	var ptr driver.CUdeviceptr
	if err := n.g.d.CuGraphMemFreeNodeGetParams(n.handle(), &ptr); err != nil {
		return err
	}
	c.use(v, driver.Access{Addr: uint64(ptr), Bytes: max(c.allocs[uint64(ptr)], 1), Mode: driver.Writes, What: "memory that it frees"})
	return nil
}

// mostPairs is the largest number of pairs that Check compares one by one.
const mostPairs = 1 << 22

func (c *checker) result(err error) (Checked, error) {
	if err != nil {
		return Checked{}, err
	}
	o := access.NewOrder(c.after)
	if o == nil {
		return Checked{}, c.cycle()
	}
	found := Checked{Unknown: c.unknowns}
	pairs := c.unordered(o, c.neighbours(o))
	if len(pairs) > 0 {
		found.Truncated = len(c.uses) > 1 && len(c.uses)*(len(c.uses)-1)/2 > mostPairs
		if !found.Truncated {
			pairs = c.unordered(o, c.allPairs())
		}
	}
	for _, p := range pairs {
		f, err := c.conflict(p)
		if err != nil {
			return Checked{}, err
		}
		found.Conflicts = append(found.Conflicts, f)
	}
	slices.SortStableFunc(found.Conflicts, func(a, b Conflict) int {
		return cmp.Or(cmp.Compare(a.A.g.raw, b.A.g.raw), cmp.Compare(a.A.i, b.A.i),
			cmp.Compare(a.B.g.raw, b.B.g.raw), cmp.Compare(a.B.i, b.B.i), cmp.Compare(a.From, b.From))
	})
	return found, nil
}

// pair holds the indices of two accesses in checker.uses.
type pair struct{ a, b int }

// neighbours returns the conflicting pairs of accesses that are closest in order. If dependencies
// order all pairs that neighbours returns, they also order all other conflicting pairs.
func (c *checker) neighbours(o *access.Order) []pair {
	byPlace := make([]int, len(c.uses))
	for i := range byPlace {
		byPlace[i] = i
	}
	slices.SortStableFunc(byPlace, func(a, b int) int {
		return cmp.Compare(o.Place[c.uses[a].Step], o.Place[c.uses[b].Step])
	})
	var x access.Index
	var pairs []pair
	for at := 0; at < len(byPlace); {
		end := at
		for end < len(byPlace) && c.uses[byPlace[end]].Step == c.uses[byPlace[at]].Step {
			end++
		}
		for _, i := range byPlace[at:end] {
			var others []int
			x.Conflicts(c.uses[i].Access, &others)
			for _, j := range others {
				pairs = append(pairs, pair{j, i})
			}
		}
		for _, i := range byPlace[at:end] {
			x.Add(i, c.uses[i].Access)
		}
		at = end
	}
	return pairs
}

func (c *checker) allPairs() []pair {
	var pairs []pair
	for i := range c.uses {
		for j := range i {
			if c.uses[i].Step != c.uses[j].Step && c.uses[i].Overlaps(c.uses[j].Access) {
				pairs = append(pairs, pair{j, i})
			}
		}
	}
	return pairs
}

func (c *checker) conflict(p pair) (f Conflict, err error) {
	a, b := &c.uses[p.a], &c.uses[p.b]
	f = Conflict{A: c.nodes[a.Step], B: c.nodes[b.Step], OfA: a.Access, OfB: b.Access}
	f.From, f.To, _ = a.Common(b.Access)
	f.Buffer, f.Size, err = c.allocation(f.From)
	return f, err
}

// cycle returns the error for a graph with a cycle. Edges do not cross graphs, so the cycle is
// within one graph.
func (c *checker) cycle() error {
	for _, g := range c.graphs {
		if nodes := g.cycle(); nodes != nil {
			return invalid("its nodes form a cycle, %s", circle(nodes))
		}
	}
	return invalid("its nodes form a cycle")
}

// unordered returns the pairs with no path between their vertices, sorted and without duplicates.
// The earlier access of each pair comes first.
func (c *checker) unordered(o *access.Order, pairs []pair) []pair {
	for i, p := range pairs {
		if o.Place[c.uses[p.a].Step] > o.Place[c.uses[p.b].Step] {
			pairs[i] = pair{p.b, p.a}
		}
	}
	first := func(p pair) int { return o.Place[c.uses[p.a].Step] }
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b))
	})
	pairs = slices.Compact(pairs)
	var left []pair
	for at := 0; at < len(pairs); {
		block := first(pairs[at]) / access.BlockSize * access.BlockSize
		from := o.Reached(block)
		for ; at < len(pairs) && first(pairs[at]) < block+access.BlockSize; at++ {
			p := pairs[at]
			i := first(p) - block
			if to := o.Place[c.uses[p.b].Step]; from[to-block][i/64]>>(i%64)&1 == 0 {
				left = append(left, p)
			}
		}
	}
	return left
}
