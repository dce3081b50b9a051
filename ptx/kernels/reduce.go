package kernels

import "github.com/purecuda/cuda/driver"

// reduction is a launch of one of the kernels of reduce.cuh, with checked operands.
type reduction struct {
	source   source
	op       string // for messages
	kernel   kernelName
	dst, src box
	work     *Workspace
	newer    *newer // a file with the kernel for newer devices, or nil
	again    *driver.Launch
}

// ahead is the number of packs that a thread of a reduction loads at a time.
const ahead = 4

// prepare chooses how rows are divided among threads.
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

// check requires one element of dst for each row.
func (r *reduction) check() error {
	if err := usable(r.dst.operand, r.src.operand); err != nil {
		return err
	}
	if r.dst.n != uint64(r.src.rows) {
		return invalid("dst has %d elements, but there are %d results; take a View of the intended part", r.dst.n, r.src.rows)
	}
	if r.dst.access().Overlaps(r.src.access()) {
		return invalid("dst and src overlap")
	}
	return nil
}

// divide returns the threads of a team and the number of parts of a row. A row has
// several parts if rows are long and too few to keep the device busy.
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
