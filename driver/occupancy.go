package driver

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver/cu"
)

// MaxActiveBlocks returns how many blocks fit on one multiprocessor at the same time, each with
// that many threads and sharedMem bytes of dynamic shared memory.
func (k *Kernel) MaxActiveBlocks(threads int, sharedMem uintptr) (int, error) {
	if err := k.check(); err != nil {
		return 0, err
	}
	if threads <= 0 || int(int32(threads)) != threads {
		return 0, invalidf("%v: %d threads per block", k, threads)
	}
	n, err := k.activeBlocks(k.code.ctx.Driver(), threads, sharedMem)
	runtime.KeepAlive(k)
	return n, err
}

func (k *Kernel) activeBlocks(d *Driver, threads int, sharedMem uintptr) (int, error) {
	var n int32
	err := d.CuOccupancyMaxActiveBlocksPerMultiprocessor(&n, k.raw, int32(threads), sharedMem)
	if err != nil {
		return 0, fmt.Errorf("occupancy of %v: %w", k, err)
	}
	return int(n), nil
}

// BlockSize is the result of Kernel.MaxPotentialBlockSize.
type BlockSize struct {
	Block   int // threads per block
	MinGrid int // blocks that fill the device
}

// MaxPotentialBlockSize returns the block size with the highest occupancy, and how many blocks fill
// the device. sharedMem returns the bytes of dynamic shared memory of a block with that many
// threads. A nil sharedMem means none. limit bounds the block size, 0 means no bound.
func (k *Kernel) MaxPotentialBlockSize(sharedMem func(threads int) uintptr, limit int) (BlockSize, error) {
	info, err := k.Info()
	if err != nil {
		return BlockSize{}, err
	}
	l, err := k.code.deviceLimits()
	if err != nil {
		return BlockSize{}, err
	}
	most := min(info.MaxThreadsPerBlock, l.threads)
	if limit > 0 {
		most = min(most, limit)
	}
	best, err := k.bestBlock(most, sharedMem)
	runtime.KeepAlive(k)
	best.MinGrid *= l.multiprocessors
	return best, err
}

// warp is the granularity in which block sizes are tried.
const warp = 32

// bestBlock tries block sizes from the largest down, as the driver's own function does. That
// function is not used because it calls back into the program for sharedMem. MinGrid is left as the
// blocks per multiprocessor.
func (k *Kernel) bestBlock(most int, sharedMem func(int) uintptr) (BlockSize, error) {
	var best BlockSize
	d := k.code.ctx.Driver()
	for threads := most; threads > 0; threads = (threads - 1) / warp * warp {
		var shared uintptr
		if sharedMem != nil {
			shared = sharedMem(threads)
		}
		n, err := k.activeBlocks(d, threads, shared)
		if err != nil {
			return BlockSize{}, err
		}
		if n*threads > best.MinGrid*best.Block {
			best = BlockSize{Block: threads, MinGrid: n}
		}
	}
	return best, nil
}

// MaxPotentialClusterSize returns the largest cluster, in blocks, that a launch with this
// configuration can have (CUDA 11.8).
func (k *Kernel) MaxPotentialClusterSize(cfg LaunchConfig) (int, error) {
	return k.clusters(&cfg, false)
}

// MaxActiveClusters returns how many clusters of this configuration the device can run at the same
// time (CUDA 11.8).
func (k *Kernel) MaxActiveClusters(cfg LaunchConfig) (int, error) {
	return k.clusters(&cfg, true)
}

// clusters returns the number of active clusters, or the largest cluster size if active is false.
func (k *Kernel) clusters(cfg *LaunchConfig, active bool) (int, error) {
	if err := k.check(); err != nil {
		return 0, err
	}
	var room [4]cu.CUlaunchAttribute
	attrs := cfg.attributes(room[:0])
	raw := cfg.raw(attrs)
	var n int32
	var err error
	if d := k.code.ctx.Driver(); active {
		err = d.CuOccupancyMaxActiveClusters(&n, k.raw, &raw)
	} else {
		err = d.CuOccupancyMaxPotentialClusterSize(&n, k.raw, &raw)
	}
	if err != nil {
		return 0, fmt.Errorf("clusters of %v: %w", k, err)
	}
	runtime.KeepAlive(attrs)
	runtime.KeepAlive(k)
	return int(n), nil
}

// AvailableSharedMem returns how many bytes of dynamic shared memory a block can have if that many
// blocks of that many threads are to fit on a multiprocessor.
func (k *Kernel) AvailableSharedMem(blocks, threads int) (uintptr, error) {
	if err := k.check(); err != nil {
		return 0, err
	}
	if int(int32(blocks)) != blocks || int(int32(threads)) != threads {
		return 0, invalidf("%v: %d blocks of %d threads", k, blocks, threads)
	}
	var n uintptr
	err := k.code.ctx.Driver().CuOccupancyAvailableDynamicSMemPerBlock(&n, k.raw, int32(blocks), int32(threads))
	runtime.KeepAlive(k)
	if err != nil {
		return 0, fmt.Errorf("shared memory of %v: %w", k, err)
	}
	return n, nil
}
