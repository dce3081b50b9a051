package kernels

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// The layout of a workspace, which reduce.cuh knows too: a counter for each row,
// then 16 bytes for each part.
const (
	workRows  = 1024
	workParts = 4096
	workBytes = workRows*4 + workParts*16
)

// Workspace is memory in which the blocks of a reduction leave parts of its
// result for the last of them. With one, all multiprocessors work on a long row;
// without, one block does.
//
// Operations that share a workspace must not run at the same time. They declare
// it, so a graph that derives its edges orders them, and Check finds those that
// are not. An operation leaves it as it found it and can be repeated.
type Workspace struct {
	mem *driver.Buffer[uint64]
}

// NewWorkspace allocates a workspace, 68 KiB, and clears it.
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

// Close frees the workspace when the operations with it have ended.
func (w *Workspace) Close() error {
	if w == nil {
		return nil
	}
	return w.mem.Close()
}

// operand returns the workspace as an operand, which may be none.
func (w *Workspace) operand() operand {
	if w == nil {
		return operand{none: true}
	}
	return operandOf("workspace", w.mem)
}

// closing closes what was made before a failure and returns both errors.
func closing(err error, made interface{ Close() error }) error {
	return errors.Join(err, made.Close())
}
