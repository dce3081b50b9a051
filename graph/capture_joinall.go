package graph

import "github.com/purecuda/cuda/driver"

// joinAll joins the forks of a capture into a graph that the program forgot, and
// says so: the driver would destroy the graph. It cannot where the capture was
// invalidated, which has the same end.
func (r *recording) joinAll() (err error) {
	if r.into.g == nil {
		return nil
	}
	for _, b := range r.branches[1:] {
		if b.open {
			_ = b.order(r.s) // if it fails, so does the end of the capture
			err = driver.CUDA_ERROR_STREAM_CAPTURE_UNJOINED
		}
	}
	return err
}
