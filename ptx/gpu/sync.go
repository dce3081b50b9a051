package gpu

// Sync waits until all threads of the block that have not exited call it (__syncthreads).
// Afterwards, memory accesses before the call are visible to the whole block. All threads of the
// block must reach the same call. If they do not, Run returns a *Panic.
//
//gpu:intrinsic
func (t Thread) Sync() { t.syncBlock(0, false) }

// SyncCount is like Sync and returns the number of threads of the block for which pred is true
// (__syncthreads_count).
//
//gpu:intrinsic
func (t Thread) SyncCount(pred bool) int { return t.syncBlock(1, pred) }

// SyncAnd is like Sync and reports whether pred is true for all threads of the block
// (__syncthreads_and).
//
//gpu:intrinsic
func (t Thread) SyncAnd(pred bool) bool { return t.syncBlock(2, !pred) == 0 }

// SyncOr is like Sync and reports whether pred is true for any thread of the block
// (__syncthreads_or).
//
//gpu:intrinsic
func (t Thread) SyncOr(pred bool) bool { return t.syncBlock(3, pred) > 0 }

// SyncWarp waits until all lanes of the warp that have not exited call it (__syncwarp).
//
//gpu:intrinsic
func (t Thread) SyncWarp() { t.SyncWarpMask(FullMask) }

// SyncWarpMask waits until the lanes of mask that have not exited call it with the same mask. The
// mask must contain the calling lane.
//
//gpu:intrinsic
func (t Thread) SyncWarpMask(mask uint32) { t.collective("SyncWarp", mask, 0, nil) }

// BarrierSync arrives at the named barrier id, from 1 to 15, and waits until count threads of the
// block have arrived (barrier.sync). count must be a multiple of WarpSize, and must be the same in
// all calls until the barrier completes. All threads of a warp must make the same call.
//
//gpu:intrinsic
func (t Thread) BarrierSync(id, count int) { t.namedBarrier(id, count, true) }

// BarrierArrive arrives at a named barrier without waiting (barrier.arrive). The parameters are
// those of BarrierSync.
//
//gpu:intrinsic
func (t Thread) BarrierArrive(id, count int) { t.namedBarrier(id, count, false) }

// ClusterSync waits until all threads of the cluster that have not exited call it. Afterwards,
// memory accesses before the call are visible to the whole cluster.
//
//gpu:intrinsic
func (t Thread) ClusterSync() {
	t.ClusterArrive()
	t.ClusterWait()
}

// ClusterArrive arrives at the cluster's barrier without waiting (barrier.cluster.arrive). The
// thread must call ClusterWait before it arrives again.
//
//gpu:intrinsic
func (t Thread) ClusterArrive() { t.clusterArrive() }

// ClusterWait waits until all threads of the cluster that have not exited have called ClusterArrive
// (barrier.cluster.wait).
//
//gpu:intrinsic
func (t Thread) ClusterWait() { t.clusterWait() }

// GridSync waits until all threads of the grid that have not exited call it. It requires a launch
// with Cooperative set in driver.LaunchConfig. Under Run, it requires the option Cooperative.
//
//gpu:intrinsic
func (t Thread) GridSync() { t.gridSync() }

// FenceBlock orders the thread's memory accesses before the call relative to those after it, as
// observed by the threads of the block (__threadfence_block).
//
//gpu:intrinsic
func (t Thread) FenceBlock() {}

// FenceDevice orders the thread's memory accesses before the call relative to those after it, as
// observed by all threads on the device (__threadfence).
//
//gpu:intrinsic
func (t Thread) FenceDevice() {}

// FenceSystem orders the thread's memory accesses before the call relative to those after it, as
// observed by the host and all devices (__threadfence_system).
//
//gpu:intrinsic
func (t Thread) FenceSystem() {}
