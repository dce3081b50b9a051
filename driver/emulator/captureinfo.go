package emulator

import (
	"slices"

	"github.com/purecuda/cuda/driver/cu"
)

// status returns the capture status that queries report for the stream.
func (s *stream) status() cu.CUstreamCaptureStatus {
	switch {
	case s.cap == nil:
		return cu.CU_STREAM_CAPTURE_STATUS_NONE
	case s.cap.invalidated:
		return cu.CU_STREAM_CAPTURE_STATUS_INVALIDATED
	}
	return cu.CU_STREAM_CAPTURE_STATUS_ACTIVE
}

// askStatus returns the stream of argument 0. It fails for the legacy stream while a stream that is
// ordered with it captures. Querying does not break that capture.
func askStatus(c call) (*stream, result) {
	s, r := streamAt(c, 0)
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

func cuStreamIsCapturing(c call) result {
	s, r := askStatus(c)
	if r != success {
		return r
	}
	return put(c, 1, s.status())
}

// cuStreamGetCaptureInfoV1 is the CUDA 10.1 version: status and id.
func cuStreamGetCaptureInfoV1(c call) result {
	s, r := askStatus(c)
	switch {
	case r != success:
		return r
	case c.Ptr(1) == nil:
		return errInvalidValue
	}
	s.putStatus(c)
	return success
}

// putStatus stores the status and the id in arguments 1 and 2.
func (s *stream) putStatus(c call) {
	*at[cu.CUstreamCaptureStatus](c, 1) = s.status()
	if id := at[uint64](c, 2); id != nil && s.status() == cu.CU_STREAM_CAPTURE_STATUS_ACTIVE {
		*id = s.cap.id
	}
}

// cuStreamGetCaptureInfoV2 is the version of CUDA 11.3 to 12.2, which cannot return edge data.
func cuStreamGetCaptureInfoV2(c call) result {
	return captureInfo(c, at[*cu.CUgraphNode](c, 4), nil, at[uintptr](c, 5))
}

func cuStreamGetCaptureInfoV3(c call) result {
	return captureInfo(c, at[*cu.CUgraphNode](c, 4), at[*cu.CUgraphEdgeData](c, 5), at[uintptr](c, 6))
}

func captureInfo(c call, deps **cu.CUgraphNode, data **cu.CUgraphEdgeData, count *uintptr) result {
	s, r := askStatus(c)
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
	// The arrays belong to the stream until its next capturing call.
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

// cuStreamUpdateCaptureDependenciesV1 has (stream, nodes, count, flags).
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

// remove records nodes that the caller removed from a dependency set. They need not be joined.
func (cap *capture) remove(edges []edge) {
	if cap.removed == nil {
		cap.removed = make(map[*node]bool)
	}
	for _, d := range edges {
		cap.removed[d.node] = true
	}
}
