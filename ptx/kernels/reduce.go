package kernels

import "github.com/purecuda/cuda/driver"

// reduction is one of the kernels of reduce.cuh for operands that were checked.
type reduction struct {
	source   source
	op       string // for messages
	kernel   kernelName
	dst, src box
	work     *Workspace
	newer    *newer // where the kernel is for newer devices, or nil
	again    *driver.Launch
}

// ahead is how many packs a thread of a reduction has on their way at a time.
const ahead = 4

// prepare chooses how rows are shared out.
func (r *reduction) prepare() (*driver.Launch, error) {
	if err := r.check(); err != nil {
		return nil, opError(r.op, err)
	}
	c, each := r.dst.mem.Context(), ahead*pack(r.src.size)
	n, err := multiprocessors(c)
	if err != nil {
		return nil, opError(r.op, err)
	}
	threads, parts := r.divide(n, each)
	cfg := deal(uint64(r.src.rows)*parts, threads)
	if threads <= warp {
		cfg = inTurns(cfg, n)
	}
	file, kernel, err := r.newer.orOlder(r.source, c, r.kernel)
	if err != nil {
		return nil, opError(r.op, err)
	}
	work := r.work.operand()
	if work.err != nil {
		return nil, opError(r.op, work.err)
	}
	shared := arg{}
	if !work.none {
		shared = inOut(&work)
	}
	m := maker{file, c, kernel, r.again}
	l, err := m.prepare(&cfg,
		out(&r.dst.operand), in(&r.src.operand), u64(uint64(r.src.rows)), u64(uint64(r.src.cols)), u64(uint64(r.src.pitch)),
		u32(uint32(parts)), shared)
	if err != nil {
		return nil, opError(r.op, err)
	}
	return l, nil
}

// check wants one place for the result of each row.
func (r *reduction) check() error {
	if err := usable(r.dst.operand, r.src.operand); err != nil {
		return err
	}
	if r.dst.n != uint64(r.src.rows) {
		return invalid("dst has %d elements, but there are %d results; take a View of the part that is meant", r.dst.n, r.src.rows)
	}
	if r.dst.access().Overlaps(r.src.access()) {
		return invalid("dst and src overlap")
	}
	return nil
}

// divide returns the threads of a team and in how many parts a row goes: more
// than one where rows are long and so few that they leave the device idle.
func (r *reduction) divide(multiprocessors, each uint64) (threads int, parts uint64) {
	rows, cols := uint64(r.src.rows), uint64(r.src.cols)
	if r.work != nil && 0 < rows && rows <= workRows {
		parts = min(min(multiprocessors*blocksEach, workParts)/rows, cols/(each*fullBlock))
	}
	if parts >= 2 {
		return fullBlock, parts
	}
	return teamFor(multiprocessors, rows, cols, each), 1
}
