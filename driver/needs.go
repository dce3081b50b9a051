package driver

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver/image"
	"github.com/purecuda/cuda/ptx"
)

// CanLoad returns nil if the installed driver accepts PTX text for the context's device, judging by
// the version and the target in its header. It does not load the text. Otherwise the error says
// what is missing and what to do. It is a [*ptx.UnmetError] and matches the code that the driver
// would return. For a cubin or a fat binary, CanLoad makes the checks that loading makes before it
// calls the driver.
//
// Loading does not depend on CanLoad, because a driver newer than this package may accept more.
// When the driver rejects PTX, its error has the same explanation.
func (c *Context) CanLoad(data []byte) error {
	if err := c.check(); err != nil {
		return fmt.Errorf("cannot tell whether the image loads: %w", err)
	}
	img, err := newLoadable(data)
	if err != nil {
		return fmt.Errorf("cannot be loaded: %w", err)
	}
	if img.kind != image.PTX {
		return nil
	}
	unmet, err := c.unmet(imageNeeds(img))
	if err != nil {
		return fmt.Errorf("cannot tell whether the image loads: %w", err)
	}
	if unmet != nil {
		return fmt.Errorf("%v cannot load this PTX: %w (%w)", c, unmet, refusal(unmet))
	}
	return nil
}

// imageNeeds reads the header. It does not validate the text.
func imageNeeds(img loadable) ptx.Needs {
	info, _ := ptx.Signatures(img.ptx())
	return info.Needs()
}

// unmet returns what the driver or the device lacks, nil if nothing.
func (c *Context) unmet(n ptx.Needs) (*ptx.UnmetError, error) {
	major, minor, err := c.Device().ComputeCapability()
	if err != nil {
		return nil, err
	}
	var unmet *ptx.UnmetError
	errors.As(n.Check(c.Driver().Version(), major, minor), &unmet)
	return unmet, nil
}

// refusal returns the code with which drivers reject such text.
func refusal(e *ptx.UnmetError) CUresult {
	if e.Kind == ptx.UnmetVersion {
		return CUDA_ERROR_UNSUPPORTED_PTX_VERSION
	}
	return CUDA_ERROR_INVALID_PTX
}

// explainNeeds replaces the hint of a rejected load by what is missing, if the driver gave that
// reason. It keeps the driver's log.
func (c *Context) explainNeeds(err error, n ptx.Needs) error {
	var e *Error
	if !errors.As(err, &e) || e.Missing || n == (ptx.Needs{}) { // a binary has none
		return err
	}
	switch e.Result {
	case CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_INVALID_PTX, CUDA_ERROR_NO_BINARY_FOR_GPU:
	default:
		return err
	}
	unmet, _ := c.unmet(n)
	if unmet == nil {
		return err
	}
	explained := *e
	explained.Hint = unmet.Error()
	return &explained
}
