package emulator

import (
	"slices"

	"github.com/purecuda/cuda/driver/cu"
)

// capture is one capture sequence. It begins in one stream. Other streams join it by waiting for an
// event recorded in it. All of its streams add nodes to one graph.
type capture struct {
	id          uint64
	graph       *graph
	own         bool // whether the capture created the graph
	origin      *stream
	thread      *thread // the thread that began the capture
	mode        cu.CUstreamCaptureMode
	streams     []*stream // in the order in which they joined, starting with origin
	removed     map[*node]bool
	left        []edge // last nodes of destroyed streams, which must be joined
	invalidated bool
	over        bool
}

var captureFunctions = functions{
	"cuStreamBeginCapture":                 {cuStreamBeginCaptureV1, afterInit},
	"cuStreamBeginCapture_v2":              {cuStreamBeginCapture, afterInit},
	"cuStreamBeginCaptureToGraph":          {cuStreamBeginCaptureToGraph, afterInit},
	"cuStreamEndCapture":                   {cuStreamEndCapture, afterInit},
	"cuStreamIsCapturing":                  {query(queriedStream, 0, 1, (*stream).status), afterInit},
	"cuStreamGetCaptureInfo":               {cuStreamGetCaptureInfoV1, afterInit},
	"cuStreamGetCaptureInfo_v2":            {cuStreamGetCaptureInfoV2, afterInit},
	"cuStreamGetCaptureInfo_v3":            {cuStreamGetCaptureInfoV3, afterInit},
	"cuStreamUpdateCaptureDependencies":    {cuStreamUpdateCaptureDependenciesV1, afterInit},
	"cuStreamUpdateCaptureDependencies_v2": {cuStreamUpdateCaptureDependenciesV2, afterInit},
	"cuThreadExchangeStreamCaptureMode":    {cuThreadExchangeStreamCaptureMode, afterInit},
}

func cuThreadExchangeStreamCaptureMode(c call) result {
	p := at[cu.CUstreamCaptureMode](c, 0)
	if p == nil {
		return errInvalidValue
	}
	c.th.mode, *p = *p, c.th.mode
	return success
}

func cuStreamBeginCaptureV1(c call) result {
	return beginCapture(c, nil, nil, cu.CU_STREAM_CAPTURE_MODE_GLOBAL)
}

func cuStreamBeginCapture(c call) result {
	return beginCapture(c, nil, nil, cu.CUstreamCaptureMode(c.Uint32(1)))
}

func cuStreamBeginCaptureToGraph(c call) result {
	g := handleAt[graph](c, 1)
	if g == nil {
		return errInvalidValue
	}
	deps, r := edgesAt(c, g, 2, 3, 4)
	if r != success {
		return r
	}
	return beginCapture(c, g, deps, cu.CUstreamCaptureMode(c.Uint32(5)))
}

func beginCapture(c call, g *graph, deps []edge, mode cu.CUstreamCaptureMode) result {
	s, r := streamAt(c, 0)
	switch {
	case r != success:
		return r
	case mode > cu.CU_STREAM_CAPTURE_MODE_RELAXED:
		return errInvalidValue
	case s.isLegacy():
		return errUnsupported
	case s.cap != nil:
		return errIllegalState
	case g != nil && g.capturing:
		return errIllegalState
	}
	cap := &capture{id: c.e.id(), graph: g, own: g == nil, origin: s, thread: c.th, mode: mode}
	if cap.own {
		cap.graph = c.e.newGraph()
	}
	cap.graph.capturing = true
	c.e.captures[cap] = struct{}{}
	cap.join(s, deps)
	return success
}

func (cap *capture) join(s *stream, deps []edge) {
	s.cap, s.capDeps = cap, slices.Clone(deps)
	cap.streams = append(cap.streams, s)
}

// invalidate invalidates the capture, which can then only be ended. It returns its argument r.
func (cap *capture) invalidate(r result) result {
	cap.invalidated = true
	return r
}

func (cap *capture) leave(s *stream) {
	if s == cap.origin {
		cap.drop()
		return
	}
	cap.left = append(cap.left, s.capDeps...)
	cap.streams = slices.DeleteFunc(cap.streams, func(other *stream) bool { return other == s })
	s.cap, s.capDeps = nil, nil
}

func (cap *capture) finish() {
	cap.over = true
	cap.graph.capturing = false
	delete(cap.graph.e.captures, cap)
	for _, s := range cap.streams {
		s.cap, s.capDeps = nil, nil
	}
}

// drop finishes the capture and destroys its graph, even if the caller supplied the graph. Driver
// 580 also destroys it. The driver then crashes at the next use of any graph with a node that
// contains the destroyed graph.
func (cap *capture) drop() {
	cap.finish()
	cap.graph.destroy()
}

func cuStreamEndCapture(c call) result {
	s, r := streamAt(c, 0)
	out := at[uintptr](c, 1)
	switch {
	case r != success:
		return r
	case s.cap == nil:
		return errIllegalState
	}
	if out == nil {
		out = new(uintptr) // the capture ends even if the caller does not request the graph
		defer func() { c.e.discard(*out) }()
	}
	*out = 0
	cap := s.cap
	switch {
	case cap.mode != cu.CU_STREAM_CAPTURE_MODE_RELAXED && cap.thread != c.th:
		// If the wrong thread ends a capture, driver 580 ends the capture for the thread that began
		// it, too. Before that, it checks for unjoined streams.
		unjoined := !cap.invalidated && cap.origin == s && !cap.joined()
		cap.drop()
		if unjoined {
			return errUnjoined
		}
		return errWrongThread
	case cap.origin != s:
		return cap.invalidate(errUnmatched)
	}
	if cap.invalidated {
		cap.drop()
		return errInvalidated
	}
	if !cap.joined() {
		cap.drop()
		return errUnjoined
	}
	cap.finish()
	*out = cap.graph.handle
	return success
}

// discard destroys the graph of a capture if the caller did not request the graph.
func (e *Emulator) discard(h uintptr) {
	if g := find[graph](e, h); g != nil {
		g.destroy()
	}
}

// joined reports whether the origin's dependencies cover everything that the other streams
// recorded.
func (cap *capture) joined() bool {
	reached := make(map[*node]bool)
	var visit func(edges []edge)
	visit = func(edges []edge) {
		for _, d := range edges {
			if !reached[d.node] {
				reached[d.node] = true
				visit(d.node.deps)
			}
		}
	}
	visit(cap.origin.capDeps)
	unjoined := func(d edge) bool { return !reached[d.node] && !cap.removed[d.node] }
	return !slices.ContainsFunc(cap.left, unjoined) &&
		!slices.ContainsFunc(cap.streams, func(s *stream) bool { return slices.ContainsFunc(s.capDeps, unjoined) })
}

// submit enqueues the work. If the stream is capturing, it records the work instead.
func (s *stream) submit(n nodeParams) result {
	if s.cap != nil {
		return s.record(n)
	}
	if r := s.implicitlyCaptured(); r != success {
		return r
	}
	s.enqueue(n)
	return success
}

// capturable returns an error if the stream's capture is invalidated. It does not check the thread,
// because any thread may record work.
func (s *stream) capturable() result {
	if s.cap.invalidated {
		return errInvalidated
	}
	return success
}

func (s *stream) record(p nodeParams) result {
	if r := s.capturable(); r != success {
		return r
	}
	n := s.cap.graph.add(p, s.capDeps)
	s.capDeps = []edge{{node: n}}
	return success
}

// captureEvent records an event in a capturing stream. It adds no node. It only stores the stream's
// current dependencies.
func (s *stream) captureEvent(ev *event) result {
	if r := s.capturable(); r != success {
		return r
	}
	ev.recorded, ev.captured = nil, &capturedPoint{cap: s.cap, deps: slices.Clone(s.capDeps)}
	return success
}

// waitCaptured implements cuStreamWaitEvent if the stream is capturing or the event was recorded in
// a capture.
func (s *stream) waitCaptured(ev *event) result {
	switch {
	case ev.captured == nil:
		if r := s.capturable(); r != success || ev.recorded == nil {
			return r
		}
		return s.cap.invalidate(errIsolation) // the work before the event was not captured
	case ev.captured.cap.over:
		if s.cap != nil {
			s.cap.invalidate(errInvalidValue)
		}
		return errInvalidValue
	case s.isLegacy():
		return ev.captured.cap.invalidate(errImplicit)
	case s.cap != nil && s.cap != ev.captured.cap:
		s.cap.invalidate(errMerge)
		return ev.captured.cap.invalidate(errMerge)
	case ev.captured.cap.invalidated:
		return errInvalidated
	case s.cap == nil:
		ev.captured.cap.join(s, ev.captured.deps)
		return s.capturable()
	}
	if r := s.capturable(); r != success {
		return r
	}
	s.capDeps = mergeEdges(s.capDeps, ev.captured.deps)
	return success
}

// mergeEdges returns the union of two lists of edges. It preserves their order.
func mergeEdges(to, more []edge) []edge {
	to = slices.Clone(to)
	for _, d := range more {
		if !slices.Contains(to, d) {
			to = append(to, d)
		}
	}
	return to
}

// prohibited returns an error if a capture forbids potentially unsafe calls on this thread. It
// invalidates every such capture.
func (e *Emulator) prohibited(th *thread) result {
	r := success
	for cap := range e.captures {
		if cap.forbids(th) {
			r = cap.invalidate(errUnsupported)
		}
	}
	return r
}

// forbids reports whether the capture forbids unsafe calls on a thread. The rules are in the table
// for cuThreadExchangeStreamCaptureMode.
func (cap *capture) forbids(th *thread) bool {
	switch {
	case th.mode >= cu.CU_STREAM_CAPTURE_MODE_RELAXED, cap.mode == cu.CU_STREAM_CAPTURE_MODE_RELAXED:
		return false
	case cap.thread == th:
		return true
	}
	return th.mode == cu.CU_STREAM_CAPTURE_MODE_GLOBAL && cap.mode == cu.CU_STREAM_CAPTURE_MODE_GLOBAL
}

// refuseWhileCapturing rejects calls that would wait for a whole context while one of its streams
// is capturing.
func (e *Emulator) refuseWhileCapturing(th *thread, ctx *cudaContext) result {
	r := e.prohibited(th)
	for cap := range e.captures {
		if cap.touches(ctx) {
			r = cap.invalidate(errUnsupported)
		}
	}
	return r
}

func (cap *capture) touches(ctx *cudaContext) bool {
	return slices.ContainsFunc(cap.streams, func(s *stream) bool { return s.ctx == ctx })
}

// implicitlyCaptured rejects use of the legacy stream while a stream ordered with it is capturing,
// because a capture cannot record that order.
func (s *stream) implicitlyCaptured() result {
	r := success
	if !s.isLegacy() {
		return r
	}
	for cap := range s.ctx.e.captures {
		if cap.blocks(s.ctx) {
			r = cap.invalidate(errImplicit)
		}
	}
	return r
}

func (cap *capture) blocks(ctx *cudaContext) bool {
	return slices.ContainsFunc(cap.streams, func(s *stream) bool { return s.ctx == ctx && s.blocking() })
}

func (s *stream) status() cu.CUstreamCaptureStatus {
	switch {
	case s.cap == nil:
		return cu.CU_STREAM_CAPTURE_STATUS_NONE
	case s.cap.invalidated:
		return cu.CU_STREAM_CAPTURE_STATUS_INVALIDATED
	}
	return cu.CU_STREAM_CAPTURE_STATUS_ACTIVE
}

// queriedStream returns the stream passed as argument i. For the legacy stream, it fails while a
// blocking stream is capturing, but it does not invalidate that capture.
func queriedStream(c call, i int) (*stream, result) {
	s, r := streamAt(c, i)
	if r != success || !s.isLegacy() {
		return s, r
	}
	for cap := range c.e.captures {
		if cap.blocks(s.ctx) {
			return s, errImplicit
		}
	}
	return s, success
}

// cuStreamGetCaptureInfoV1 is cuStreamGetCaptureInfo from CUDA 10.1. It returns only the status and
// the ID.
func cuStreamGetCaptureInfoV1(c call) result {
	s, r := queriedStream(c, 0)
	switch {
	case r != success:
		return r
	case c.Ptr(1) == nil:
		return errInvalidValue
	}
	s.putStatus(c)
	return success
}

// putStatus stores the status and the ID at the addresses in arguments 1 and 2.
func (s *stream) putStatus(c call) {
	*at[cu.CUstreamCaptureStatus](c, 1) = s.status()
	if id := at[uint64](c, 2); id != nil && s.status() == cu.CU_STREAM_CAPTURE_STATUS_ACTIVE {
		*id = s.cap.id
	}
}

// cuStreamGetCaptureInfoV2 is cuStreamGetCaptureInfo from CUDA 11.3 to 12.2. It cannot return edge
// data.
func cuStreamGetCaptureInfoV2(c call) result {
	return captureInfo(c, at[*cu.CUgraphNode](c, 4), nil, at[uintptr](c, 5))
}

func cuStreamGetCaptureInfoV3(c call) result {
	return captureInfo(c, at[*cu.CUgraphNode](c, 4), at[*cu.CUgraphEdgeData](c, 5), at[uintptr](c, 6))
}

func captureInfo(c call, deps **cu.CUgraphNode, data **cu.CUgraphEdgeData, count *uintptr) result {
	s, r := queriedStream(c, 0)
	switch {
	case r != success:
		return r
	case c.Ptr(1) == nil:
		return errInvalidValue
	}
	s.putStatus(c)
	if s.status() != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE {
		return success
	}
	if data == nil && deps != nil && slices.ContainsFunc(s.capDeps, edge.special) {
		return errLossyQuery
	}
	if g := at[uintptr](c, 3); g != nil {
		*g = s.cap.graph.handle
	}
	// The arrays remain valid until the next call that captures in the stream.
	handles := make([]cu.CUgraphNode, len(s.capDeps)+1)
	edges := make([]cu.CUgraphEdgeData, len(s.capDeps)+1)
	for i, d := range s.capDeps {
		handles[i], edges[i] = cu.CUgraphNode(d.node.handle), d.data
	}
	if deps != nil {
		*deps = &handles[0]
	}
	if data != nil {
		*data = &edges[0]
	}
	if count != nil {
		*count = uintptr(len(s.capDeps))
	}
	return success
}

// cuStreamUpdateCaptureDependenciesV1 takes (stream, nodes, count, flags).
func cuStreamUpdateCaptureDependenciesV1(c call) result {
	return updateCapture(c, -1, 2, c.Uint32(3))
}

func cuStreamUpdateCaptureDependenciesV2(c call) result {
	return updateCapture(c, 2, 3, c.Uint32(4))
}

func updateCapture(c call, dataArg, countArg int, flags uint32) result {
	s, r := streamAt(c, 0)
	switch {
	case r != success:
		return r
	case s.cap == nil:
		return errIllegalState
	case flags > uint32(cu.CU_STREAM_SET_CAPTURE_DEPENDENCIES):
		return errInvalidValue
	}
	if r := s.capturable(); r != success {
		return r
	}
	deps, r := edgesAt(c, s.cap.graph, 1, dataArg, countArg)
	if r != success {
		return r
	}
	if flags == uint32(cu.CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
		s.cap.remove(s.capDeps)
		s.capDeps = deps
		return success
	}
	s.capDeps = mergeEdges(s.capDeps, deps)
	return success
}

// remove records nodes that the program removed from a stream's dependencies. The origin need not
// join them.
func (cap *capture) remove(edges []edge) {
	if cap.removed == nil {
		cap.removed = make(map[*node]bool)
	}
	for _, d := range edges {
		cap.removed[d.node] = true
	}
}
