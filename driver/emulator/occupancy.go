package emulator

import (
	"cmp"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/spec"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/loader"
)

var occupancyFunctions = functions{
	"cuOccupancyMaxActiveBlocksPerMultiprocessor":          {cuOccupancyMaxActiveBlocks, current},
	"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": {cuOccupancyMaxActiveBlocksWithFlags, current},
	"cuOccupancyMaxPotentialBlockSize":                     {cuOccupancyMaxPotentialBlockSize, current},
	"cuOccupancyMaxPotentialBlockSizeWithFlags":            {cuOccupancyMaxPotentialBlockSize, current},
	"cuOccupancyAvailableDynamicSMemPerBlock":              {cuOccupancyAvailableDynamicSMemPerBlock, current},
	"cuOccupancyMaxPotentialClusterSize":                   {cuOccupancyMaxPotentialClusterSize, current},
	"cuOccupancyMaxActiveClusters":                         {cuOccupancyMaxActiveClusters, current},
}

const warpSize = 32

// blocksPerSM returns how many blocks of the given size are resident at a time.
func (f *kernelFunc) blocksPerSM(threads int, dynamic uint64) int {
	return f.mod.ctx.e.spec().Multiprocessor().Blocks(threads, f.info.NumRegs, uint64(f.info.SharedBytes)+dynamic)
}

// spec describes the emulator's devices.
func (e *Emulator) spec() spec.Device {
	return spec.Device{Capability: e.cfg.ComputeCapability, Multiprocessors: e.cfg.Multiprocessors}
}

func cuOccupancyMaxActiveBlocks(c call) result {
	f, r := functionAt(c, 1)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil || c.Int32(2) <= 0:
		return errInvalidValue
	}
	return put(c, 0, int32(f.blocksPerSM(int(c.Int32(2)), c.Uint64(3))))
}

func cuOccupancyMaxActiveBlocksWithFlags(c call) result {
	if c.Uint32(4)&^uint32(cu.CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0 {
		return errInvalidValue
	}
	return cuOccupancyMaxActiveBlocks(c)
}

// cuOccupancyMaxPotentialBlockSize tries block sizes from the largest. The caller's function from
// block size to shared memory is a C function.
func cuOccupancyMaxPotentialBlockSize(c call) result {
	grid, block := at[int32](c, 0), at[int32](c, 1)
	f, r := functionAt(c, 2)
	switch {
	case r != success:
		return r
	case grid == nil || block == nil:
		return errInvalidValue
	}
	limit := f.info.MaxThreads
	if n := int(c.Int32(5)); n > 0 {
		limit = min(limit, n)
	}
	best, bestThreads, bestBlocks := 0, 0, 0
	for threads := limit; threads > 0; threads = (threads - 1) / warpSize * warpSize {
		blocks := f.blocksPerSM(threads, dynamicShared(c, threads))
		if blocks*threads > best {
			best, bestThreads, bestBlocks = blocks*threads, threads, blocks
		}
	}
	*grid = int32(bestBlocks * f.mod.ctx.e.cfg.Multiprocessors)
	*block = int32(bestThreads)
	return success
}

func dynamicShared(c call, threads int) uint64 {
	if fn := c.Word(3); fn != 0 {
		p := loader.AddrProc(fn)
		return uint64(p.Call(uintptr(threads)))
	}
	return c.Uint64(4)
}

func cuOccupancyAvailableDynamicSMemPerBlock(c call) result {
	f, r := functionAt(c, 1)
	blocks, threads := int(c.Int32(2)), int(c.Int32(3))
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil || blocks <= 0 || threads <= 0:
		return errInvalidValue
	case f.blocksPerSM(threads, 0) < blocks:
		return errInvalidValue
	}
	free := c.e.spec().Multiprocessor().Shared(blocks) - f.info.SharedBytes
	free = min(free, int(f.settings.maxDynamicShared))
	return put(c, 0, uintptr(max(free, 0)))
}

const (
	portableCluster = 8
	largestCluster  = 16
)

func cuOccupancyMaxPotentialClusterSize(c call) result {
	f, r := functionAt(c, 1)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil || c.Ptr(2) == nil:
		return errInvalidValue
	case !c.e.spec().Multiprocessor().Clusters:
		return errNotSupported
	case f.settings.nonPortable:
		return put(c, 0, int32(largestCluster))
	}
	return put(c, 0, int32(portableCluster))
}

func cuOccupancyMaxActiveClusters(c call) result {
	f, r := functionAt(c, 1)
	cfg := at[cu.CUlaunchConfig](c, 2)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil || cfg == nil:
		return errInvalidValue
	}
	n := kernelNode{fn: f, grid: vm.Dim3{X: cfg.GridDimX, Y: cfg.GridDimY, Z: cfg.GridDimZ}}
	asked := false
	if cfg.Attrs != nil {
		for _, a := range unsafe.Slice(cfg.Attrs, cfg.NumAttrs) {
			if a.Id == cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION {
				d := a.Value.ClusterDim()
				n.attrs.cluster, asked = vm.Dim3{X: d.X, Y: d.Y, Z: d.Z}, true
			}
		}
	}
	size := n.cluster()
	if size == (vm.Dim3{}) && !asked {
		return put(c, 0, int32(0)) // no clusters without a size
	}
	if r := n.checkCluster(); r != success || size.Count() == 0 {
		return cmp.Or(r, errInvalidCluster)
	}
	threads := int(cfg.BlockDimX * cfg.BlockDimY * cfg.BlockDimZ)
	blocks := f.blocksPerSM(threads, uint64(cfg.SharedMemBytes)) * c.e.cfg.Multiprocessors
	return put(c, 0, int32(uint64(blocks)/size.Count()))
}
