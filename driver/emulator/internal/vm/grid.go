package vm

import "sync"

// gridWorkspace returns the address of the workspace of a cooperative launch, or 0 for another
// launch. The second word counts arrivals at the barrier of the grid. Kernels find the address in
// two special registers.
func (r *launchRun) gridWorkspace() uint64 {
	if !r.opts.Cooperative {
		return 0
	}
	r.gridOnce.Do(func() {
		at, err := r.mem.Alloc(gridWorkspaceBytes, AllocOptions{Device: r.opts.Device.Ordinal, Kind: RegionGlobal, Tag: "a cooperative launch"})
		if err == nil { // otherwise the kernel accesses address 0
			r.grid = at
		}
	})
	return r.grid
}

const gridWorkspaceBytes = 64

// freeGridWorkspace frees the workspace. The next launch can use the same launchRun.
func (r *launchRun) freeGridWorkspace() {
	if r.grid != 0 {
		r.mem.Free(r.grid, "the end of its launch")
		r.grid, r.gridOnce = 0, sync.Once{}
	}
}

// envreg returns the special registers with the address of the workspace. The others are 0.
func envreg(name string) func(w *warp) uint32 {
	switch name {
	case "envreg1":
		return func(w *warp) uint32 { return uint32(w.cta.run.gridWorkspace() >> 32) }
	case "envreg2":
		return func(w *warp) uint32 { return uint32(w.cta.run.gridWorkspace()) }
	}
	return func(w *warp) uint32 { return 0 }
}
