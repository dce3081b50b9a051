package graph

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

type captureInfo struct {
	status cu.CUstreamCaptureStatus
	id     uint64
	graph  driver.CUgraph
	nodes  *cu.CUgraphNode
	data   *cu.CUgraphEdgeData
	n      uintptr
}

// info queries the driver. Since CUDA 12.3, dependencies have edge data. info always queries the
// data, because the driver fails if the caller omits nonzero data.
func (r *recording) info(s *driver.Stream) (i captureInfo, err error) {
	d := s.Context().Guarded()
	if d.Has(cu.FnCuStreamGetCaptureInfo) {
		err = d.CuStreamGetCaptureInfo(s.Raw(), &i.status, &i.id, &i.graph, &i.nodes, &i.data, &i.n)
	} else {
		err = d.CuStreamGetCaptureInfo_v11030(s.Raw(), &i.status, &i.id, &i.graph, &i.nodes, &i.n)
	}
	return i, err
}

// active returns nil while the capture is active, otherwise the reason why it is not.
func (i *captureInfo) active(r *recording) error {
	switch i.status {
	case cu.CU_STREAM_CAPTURE_STATUS_ACTIVE:
		return nil
	case cu.CU_STREAM_CAPTURE_STATUS_INVALIDATED:
		return fmt.Errorf("capture of %v: %s: %w", r.s, r.invalidatedBy(), driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
	}
	return refuse(driver.CUDA_ERROR_ILLEGAL_STATE, "capture of %v: other code ended it", r.s)
}

// edges copies the dependencies, because the driver's lists are valid only until the next call on
// the stream. To is the zero Node, because the next node is not recorded yet.
func (i *captureInfo) edges(g *Graph) []Edge {
	edges := make([]Edge, i.n)
	for k, raw := range unsafe.Slice(i.nodes, i.n) {
		edges[k].From = g.node(raw)
	}
	if i.data != nil {
		for k, d := range unsafe.Slice(i.data, i.n) {
			edges[k].Data = d
		}
	}
	return edges
}

func froms(edges []Edge) []Node {
	nodes := make([]Node, len(edges))
	for i, e := range edges {
		nodes[i] = e.From
	}
	return nodes
}

// Dependencies returns the edges to the next operation that the scope will record, with their data
// (CUDA 12.3). From is a node that the operation will run after. To is the zero Node.
func (sc *Scope) Dependencies() ([]Edge, error) {
	r, err := sc.lockUsable()
	if err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	return r.pending(sc.s)
}

func (r *recording) pending(s *driver.Stream) ([]Edge, error) {
	g, err := r.graph()
	if err != nil {
		return nil, err
	}
	g.lockLatch()
	defer g.mu.Unlock()
	i, err := r.info(s)
	if err != nil {
		return nil, fmt.Errorf("capture of %v: %w", s, err)
	}
	if err := i.active(r); err != nil {
		return nil, err
	}
	return i.edges(g), nil
}

// SetDependencies replaces the dependencies of the scope. Its next operation runs only after the
// From nodes of these edges, which must be nodes of the recorded graph. Earlier work of the scope
// then needs no join. To is ignored. Edge data needs CUDA 12.3.
//
// To let the next operation also run after n, pass the result of Dependencies and Edge{From: n}.
func (sc *Scope) SetDependencies(edges ...Edge) error {
	r, err := sc.lockUsable()
	if err != nil {
		return err
	}
	defer r.mu.Unlock()
	g, err := r.graph()
	if err != nil {
		return err
	}
	if err := g.lock(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if err := sc.update(g, edges); err != nil {
		return fmt.Errorf("dependencies of the capture of %v: %w", sc.s, err)
	}
	sc.b.open = true
	return nil
}

func (sc *Scope) update(g *Graph, edges []Edge) error {
	nodes, data, err := g.rawEdges(edges)
	if err != nil {
		return err
	}
	d, n, how := sc.s.Driver(), uintptr(len(nodes)), uint32(cu.CU_STREAM_SET_CAPTURE_DEPENDENCIES)
	if d.Has(cu.FnCuStreamUpdateCaptureDependencies) || data != nil {
		return d.CuStreamUpdateCaptureDependencies(sc.s.Raw(), unsafe.SliceData(nodes), unsafe.SliceData(data), n, how)
	}
	return d.CuStreamUpdateCaptureDependencies_v11030(sc.s.Raw(), unsafe.SliceData(nodes), n, how)
}

// rawEdges returns dependencies as C lists. It skips further edges from the same node, which the
// driver rejects. data is nil if all edge data is zero.
func (g *Graph) rawEdges(edges []Edge) (nodes []cu.CUgraphNode, data []cu.CUgraphEdgeData, err error) {
	special := false
	for _, e := range edges {
		if err := g.check(e.From); err != nil {
			return nil, nil, err
		}
		if slices.Contains(nodes, e.From.handle()) {
			continue
		}
		special = special || e.Data != cu.CUgraphEdgeData{}
		nodes, data = append(nodes, e.From.handle()), append(data, e.Data)
	}
	if !special {
		data = nil
	}
	return nodes, data, nil
}

// explain adds the reason why ending the capture failed, if it is known. The driver does not report
// it.
func (r *recording) explain(err error) error {
	if err == nil {
		return nil
	}
	reason := ""
	switch resultOf(err) {
	case driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
		reason = r.invalidatedBy()
	case driver.CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
		reason = r.unjoined()
	}
	if reason == "" {
		return fmt.Errorf("capture of %v: %w", r.s, err)
	}
	return fmt.Errorf("capture of %v: %s: %w", r.s, reason, err)
}

// invalidatedBy describes what invalidated the capture: the first failed operation of the capture's
// scopes. If there is none, it describes the failed call that is the most likely cause.
func (r *recording) invalidatedBy() string {
	if first := r.first.Load(); first != nil {
		return "invalidated when " + *first
	}
	if e := likeliest(cu.CaptureFaultsSince(r.faults)); e != nil {
		return fmt.Sprintf("invalidated by a call that failed while it was open (%v)", e)
	}
	return "invalidated by a call that it does not allow, made without this library or after the capture had failed"
}

// likeliest returns the first failure whose error code concerns captures. If there is none, it
// returns the first failure. It ignores the first failure that only reports the invalidated
// capture, and all later ones.
func likeliest(errs []*driver.Error) *driver.Error {
	var first *driver.Error
	for _, e := range errs {
		switch c := e.Result; {
		case c == driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
			return first
		case c >= driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && c <= driver.CUDA_ERROR_CAPTURED_EVENT:
			return e
		case first == nil:
			first = e
		}
	}
	return first
}

func (r *recording) unjoined() string {
	var names []string
	for _, b := range r.branches[1:] {
		if b.open {
			names = append(names, b.s.String())
		}
	}
	if len(names) == 0 {
		return "a stream that was forked from it was not joined"
	}
	return strings.Join(names, ", ") + " was forked from it and not joined; call Scope.Join"
}
