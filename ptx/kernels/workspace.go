package kernels

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// The layout of a workspace. The first part must match reduce.cuh: a counter for each row, then 16
// bytes for each part. The rest is scratch memory, which is not cleared after use.
const (
	workRows  = 1024
	workParts = 4096
	workBytes = workRows*4 + workParts*16
)

// Workspace is memory in which the blocks of a reduction store partial results for the
// last block. With a workspace, all multiprocessors process a long row. Without one, a
// single block does. Prefix sums and sorts need a workspace, whose size depends on the number of
// elements.
//
// Operations that share a workspace must not run at the same time. They declare their access to it.
// A graph that derives its edges therefore orders them, and Check reports unordered operations. An
// operation restores the initial state of the workspace, so it can be repeated.
type Workspace struct {
	mem *driver.Buffer[uint64]
}

// NewWorkspace allocates and clears a workspace. Without a size, it has 68 KiB, which suffices for
// reductions. If several sizes are given, it has the largest:
//
//	work, err := kernels.NewWorkspace(ctx, kernels.SortWorkspace[float32](n), kernels.ScanWorkspace[int32](n))
func NewWorkspace(c *driver.Context, bytes ...int) (*Workspace, error) {
	size := workBytes
	for _, n := range bytes {
		size = max(size, n)
	}
	mem, err := driver.Alloc[uint64](c, (size+7)/8)
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

// scratch hands out parts of the memory of a workspace that is not cleared after use. A part begins
// at a multiple of 256 bytes.
type scratch struct {
	work *Workspace
	used uint64
}

// scratchAlign is the alignment of the parts of a workspace.
const scratchAlign = 256

// scratchSize returns the size of a workspace that has room for the given parts.
func scratchSize(parts ...uint64) int {
	n := uint64(workBytes)
	for _, p := range parts {
		n += (p + scratchAlign - 1) / scratchAlign * scratchAlign
	}
	return int(n)
}

// scratch returns the parts of the workspace, or an error if it has less than need bytes.
func (w *Workspace) scratch(need int) (scratch, error) {
	if w == nil {
		return scratch{}, invalid("work is nil")
	}
	if have := int(w.mem.Bytes()); have < need {
		return scratch{}, invalid("the workspace has %d bytes, but this operation needs %d; pass the size to NewWorkspace", have, need)
	}
	return scratch{w, workBytes}, nil
}

// next returns the next part.
func (s *scratch) next(bytes uint64) operand {
	bytes = (bytes + scratchAlign - 1) / scratchAlign * scratchAlign
	o := operandOf("workspace", s.work.mem.View(int(s.used/8), int((s.used+bytes)/8)))
	s.used += bytes
	return o
}

// closing closes an object after a failure. It returns err joined with the error from closing.
func closing(err error, made interface{ Close() error }) error {
	return errors.Join(err, made.Close())
}
