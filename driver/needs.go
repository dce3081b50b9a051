package driver

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver/image"
	"github.com/purecuda/cuda/ptx"
)

// CanLoad answers, without loading it, whether the installed driver takes PTX
// text for the context's device: by the version and the target in its header.
// The error says what is missing and what to do; it is a [*ptx.UnmetError] and
// matches the code that the driver would answer. A cubin or a fat binary is
// looked at as far as loading looks at it before the driver does.
//
// Loading does not ask it first: only the driver knows for certain what it
// takes, and one that is newer than this package may take more. What the driver
// refuses is explained in the same words.
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

// imageNeeds reads the header. Whether the text is right is for the driver to say.
func imageNeeds(img loadable) ptx.Needs {
	info, _ := ptx.Signatures(img.ptx())
	return info.Needs()
}

// unmet is what the driver or the device lacks, nil for nothing.
func (c *Context) unmet(n ptx.Needs) (*ptx.UnmetError, error) {
	major, minor, err := c.Device().ComputeCapability()
	if err != nil {
		return nil, err
	}
	var unmet *ptx.UnmetError
	errors.As(n.Check(c.Driver().Version(), major, minor), &unmet)
	return unmet, nil
}

// refusal is the code with which drivers refuse such text.
func refusal(e *ptx.UnmetError) CUresult {
	if e.Kind == ptx.UnmetVersion {
		return CUDA_ERROR_UNSUPPORTED_PTX_VERSION
	}
	return CUDA_ERROR_INVALID_PTX
}

// explainNeeds replaces the hint of a refused load by what is missing, where
// that is the driver's reason. The driver's own log stays.
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
