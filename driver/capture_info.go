package driver

import (
	"runtime"

	"github.com/purecuda/cuda/driver/cu"
)

type captureInfo struct {
	status cu.CUstreamCaptureStatus
	id     uint64
	graph  CUgraph
}

// captureInfo uses the ABI that the driver has. The ABI since CUDA 12.3 also returns edge data,
// which is not requested.
func (s *Stream) captureInfo() (i captureInfo, err error) {
	d := s.core.guarded
	if d.Has(cu.FnCuStreamGetCaptureInfo) {
		err = d.CuStreamGetCaptureInfo(s.raw, &i.status, &i.id, &i.graph, nil, nil, nil)
	} else {
		err = d.CuStreamGetCaptureInfo_v11030(s.raw, &i.status, &i.id, &i.graph, nil, nil)
	}
	return i, err
}

// CaptureStatus returns the stream's capture status and the number of its capture, which is unique
// in the process. The status distinguishes a capture in progress from an invalidated one.
func (s *Stream) CaptureStatus() (status cu.CUstreamCaptureStatus, id uint64, err error) {
	if err := s.check(); err != nil {
		return 0, 0, err
	}
	i, err := s.captureInfo()
	runtime.KeepAlive(s)
	return i.status, i.id, s.named(err)
}
