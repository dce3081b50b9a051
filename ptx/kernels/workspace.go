package kernels

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// The layout of a workspace, which must match reduce.cuh: first a counter for each row, then 16
// bytes for each part.
const (
	workRows  = 1024
	workParts = 4096
	workBytes = workRows*4 + workParts*16
)

// Workspace is memory in which the blocks of a reduction store partial results for the
// last block. With a workspace, all multiprocessors process a long row. Without one, a
// single block does.
//
// Operations that share a workspace must not run at the same time. They declare their access to it.
// A graph that derives its edges therefore orders them, and Check reports unordered operations. An
// operation restores the initial state of the workspace, so it can be repeated.
type Workspace struct {
	mem *driver.Buffer[uint64]
}

// NewWorkspace allocates and clears a workspace of 68 KiB.
func NewWorkspace(c *driver.Context) (*Workspace, error) {
	mem, err := driver.Alloc[uint64](c, workBytes/8)
	if err != nil {
		return nil, fmt.Errorf("kernels: workspace: %w", err)
	}
	w := &Workspace{mem}
	if err := mem.Fill(0); err != nil {
		return nil, closing(fmt.Errorf("kernels: workspace: %w", err), w)
	}
	return w, nil
}

// Close frees the workspace after the operations that use it have ended.
func (w *Workspace) Close() error {
	if w == nil {
		return nil
	}
	return w.mem.Close()
}

// operand returns the workspace as an operand, or an absent operand for nil.
func (w *Workspace) operand() operand {
	if w == nil {
		return operand{none: true}
	}
	return operandOf("workspace", w.mem)
}

// closing closes an object after a failure. It returns err joined with the error from closing.
func closing(err error, made interface{ Close() error }) error {
	return errors.Join(err, made.Close())
}
