package gpu_test

import (
	"testing"

	"github.com/purecuda/cuda/ptx/gpu"
)

// lastExits makes thread 7 exit after all other threads have called wait. The calls of wait must
// then return.
func lastExits(t *testing.T, wait func(k gpu.Thread)) {
	t.Helper()
	mustRun(t, gpu.D1(1), gpu.D1(32), func(k gpu.Thread) {
		n := gpu.Shared[uint32](k)
		if k.Rank() == 0 {
			*n = 0
		}
		k.Sync()
		if k.Rank() != 7 {
			gpu.AtomicAdd(n, 1)
			wait(k)
			return
		}
		for gpu.AtomicLoad(n) < 31 {
			k.Sleep(1)
		}
		k.Sleep(1_000_000)
	})
}

func TestAnExitReleasesTheOthers(t *testing.T) {
	lastExits(t, func(k gpu.Thread) { k.Sync() })
	lastExits(t, func(k gpu.Thread) { k.SyncWarp() })
	lastExits(t, func(k gpu.Thread) { k.ClusterSync() })
}

func TestSyncWarpWaitsForAllLanes(t *testing.T) {
	mustRun(t, gpu.D1(1), gpu.D1(32), func(k gpu.Thread) {
		n := gpu.Shared[uint32](k)
		if k.Rank() == 0 {
			*n = 0
		}
		k.Sync()
		for i := range 100 {
			gpu.AtomicAdd(n, 1)
			k.SyncWarp()
			if got := gpu.AtomicLoad(n); got < uint32(32*(i+1)) {
				t.Errorf("round %d: %d lanes", i, got)
			}
		}
	})
}

// A thread that arrives at the cluster barrier and then exits must not be counted twice.
func TestArriveAndExit(t *testing.T) {
	mustRun(t, gpu.D1(1), gpu.D1(32), func(k gpu.Thread) {
		state := gpu.Shared[[2]uint32](k) // number of threads that have arrived, and whether the last thread is ready
		if k.Rank() == 0 {
			*state = [2]uint32{}
		}
		k.Sync()
		switch k.Rank() {
		case 0:
			k.ClusterArrive()
			return
		case 31:
			for gpu.AtomicLoad(&state[0]) < 30 {
				k.Sleep(1)
			}
			k.Sleep(1_000_000)
			gpu.AtomicStore(&state[1], 1)
		}
		gpu.AtomicAdd(&state[0], 1)
		k.ClusterSync()
		if gpu.AtomicLoad(&state[1]) != 1 {
			t.Error("the barrier completes before all threads have arrived")
		}
	})
}
