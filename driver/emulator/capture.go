package emulator

import (
	"slices"

	"github.com/purecuda/cuda/driver/cu"
)

// capture is one capture sequence. It began in one stream, and other streams may have joined it by
// waiting for an event recorded in it. All of them add nodes to one graph.
type capture struct {
	id          uint64
	graph       *graph
	own         bool // the capture made the graph, rather than being given it
	origin      *stream
	thread      *thread // the thread that began it
	mode        cu.CUstreamCaptureMode
	streams     []*stream // in the order in which they joined; origin first
	removed     map[*node]bool
	left        []edge // what destroyed streams would have had to join
	invalidated bool
	over        bool
}

var captureFunctions = functions{
	"cuStreamBeginCapture":                 {cuStreamBeginCaptureV1, afterInit},
	"cuStreamBeginCapture_v2":              {cuStreamBeginCapture, afterInit},
	"cuStreamBeginCaptureToGraph":          {cuStreamBeginCaptureToGraph, afterInit},
	"cuStreamEndCapture":                   {cuStreamEndCapture, afterInit},
	"cuStreamIsCapturing":                  {cuStreamIsCapturing, afterInit},
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

// invalidate breaks the capture. From now on it can only be ended.
func (cap *capture) invalidate(r result) result {
	cap.invalidated = true
	return r
}

// leave removes a stream that is being destroyed from the capture.
func (cap *capture) leave(s *stream) {
	if s == cap.origin {
		cap.drop()
		return
	}
	cap.left = append(cap.left, s.capDeps...)
	cap.streams = slices.DeleteFunc(cap.streams, func(other *stream) bool { return other == s })
	s.cap, s.capDeps = nil, nil
}

// finish removes all streams from the capture.
func (cap *capture) finish() {
	cap.over = true
	cap.graph.capturing = false
	delete(cap.graph.e.captures, cap)
	for _, s := range cap.streams {
		s.cap, s.capDeps = nil, nil
	}
}

// drop finishes the capture and destroys the graph it recorded into, even if the caller supplied
// that graph. Driver 580 does the same, and crashes when that graph lay in a node and the node's
// graph is used next.
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
		out = new(uintptr) // the capture ends anyway
		defer func() { c.e.discard(*out) }()
	}
	*out = 0
	cap := s.cap
	switch {
	case cap.mode != cu.CU_STREAM_CAPTURE_MODE_RELAXED && cap.thread != c.th:
		// Both observed on driver 580: the capture is over even for its own thread, and streams
		// that were not joined are detected first.
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

// discard destroys the graph of a capture whose result the caller did not take.
func (e *Emulator) discard(h uintptr) {
	if g := find[graph](e, h); g != nil {
		g.destroy()
	}
}

// joined reports whether everything that the other streams recorded is an ancestor of what the
// origin depends on.
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

// submit enqueues work in the stream, or records it if the stream is capturing.
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

// capturable checks that the stream can still record. Any thread may record.
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

// captureEvent records an event in a capturing stream. It adds no node and only stores what the
// stream depends on now.
func (s *stream) captureEvent(ev *event) result {
	if r := s.capturable(); r != success {
		return r
	}
	ev.mark, ev.cap = nil, &capturedMark{cap: s.cap, deps: slices.Clone(s.capDeps)}
	return success
}

// waitCaptured implements cuStreamWaitEvent when the stream or the event is being captured.
func (s *stream) waitCaptured(ev *event) result {
	switch {
	case ev.cap == nil:
		if r := s.capturable(); r != success || ev.mark == nil {
			return r
		}
		return s.cap.invalidate(errIsolation) // depends on work that is not captured
	case ev.cap.cap.over:
		if s.cap != nil {
			s.cap.invalidate(errInvalidValue)
		}
		return errInvalidValue
	case s.isLegacy():
		return ev.cap.cap.invalidate(errImplicit)
	case s.cap != nil && s.cap != ev.cap.cap:
		s.cap.invalidate(errMerge)
		return ev.cap.cap.invalidate(errMerge)
	case ev.cap.cap.invalidated:
		return errInvalidated
	case s.cap == nil:
		ev.cap.cap.join(s, ev.cap.deps)
		return s.capturable()
	}
	if r := s.capturable(); r != success {
		return r
	}
	s.capDeps = mergeEdges(s.capDeps, ev.cap.deps)
	return success
}

// mergeEdges adds the edges that are not there yet.
func mergeEdges(to, more []edge) []edge {
	to = slices.Clone(to)
	for _, d := range more {
		if !slices.Contains(to, d) {
			to = append(to, d)
		}
	}
	return to
}
