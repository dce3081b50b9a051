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

// captureInfo asks by the ABI the driver has: since CUDA 12.3 it also knows
// edge data, which is not asked for.
func (s *Stream) captureInfo() (i captureInfo, err error) {
	d := s.core.guarded
	if d.Has(cu.FnCuStreamGetCaptureInfo) {
		err = d.CuStreamGetCaptureInfo(s.raw, &i.status, &i.id, &i.graph, nil, nil, nil)
	} else {
		err = d.CuStreamGetCaptureInfo_v11030(s.raw, &i.status, &i.id, &i.graph, nil, nil)
	}
	return i, err
}

// CaptureStatus reports whether the stream is capturing, or was until
// something invalidated the capture, and the capture's number, which is unique
// in the process.
func (s *Stream) CaptureStatus() (status cu.CUstreamCaptureStatus, id uint64, err error) {
	if err := s.check(); err != nil {
		return 0, 0, err
	}
	i, err := s.captureInfo()
	runtime.KeepAlive(s)
	return i.status, i.id, s.named(err)
}
