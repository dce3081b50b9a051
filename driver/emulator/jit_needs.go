package emulator

import (
	"errors"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/ptx"
)

// accepts checks the headers. A driver accepts PTX up to the newest version that it knows, and code
// for targets that the device can run.
func (e *Emulator) accepts(trees ...*ptx.Module) (result, error) {
	for _, tree := range trees {
		err := tree.Needs().Check(e.cfg.DriverVersion, e.cfg.ComputeCapability[0], e.cfg.ComputeCapability[1])
		var unmet *ptx.UnmetError
		switch {
		case !errors.As(err, &unmet):
		case unmet.Kind == ptx.UnmetVersion:
			return cu.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, err
		default:
			return cu.CUDA_ERROR_INVALID_PTX, err
		}
	}
	return success, nil
}
