// Package spec describes devices by compute capability: their attributes, the limits of their
// multiprocessors and contexts, and the number of resident blocks per multiprocessor.
package spec

import "github.com/purecuda/cuda/driver/cu"

// Device contains the properties in which emulated devices differ.
type Device struct {
	Capability      [2]int // major and minor version
	Multiprocessors int
}

// Multiprocessor contains the limits of one multiprocessor that depend on the compute capability.
// See table "Technical Specifications per Compute Capability" in the CUDA C++ Programming Guide.
type Multiprocessor struct {
	threads        int
	blocks         int
	shared         int
	SharedOptin    int // maximum shared memory per block after opting in, in bytes
	sharedReserved int // shared memory in bytes that the system reserves in each block
	Clusters       bool
}

// Multiprocessor returns the limits of one multiprocessor of the device.
func (d Device) Multiprocessor() Multiprocessor {
	const kib = 1 << 10
	switch cc := d.Capability[0]*10 + d.Capability[1]; {
	case cc >= 120:
		return Multiprocessor{1536, 24, 100 * kib, 99 * kib, kib, true}
	case cc >= 90:
		return Multiprocessor{2048, 32, 228 * kib, 227 * kib, kib, true}
	case cc >= 89:
		return Multiprocessor{1536, 24, 100 * kib, 99 * kib, kib, false}
	case cc >= 87:
		return Multiprocessor{1536, 16, 164 * kib, 163 * kib, kib, false}
	case cc >= 86:
		return Multiprocessor{1536, 16, 100 * kib, 99 * kib, kib, false}
	case cc >= 80:
		return Multiprocessor{2048, 32, 164 * kib, 163 * kib, kib, false}
	case cc >= 75:
		return Multiprocessor{1024, 16, 64 * kib, 64 * kib, 0, false}
	default:
		return Multiprocessor{2048, 32, 96 * kib, 96 * kib, 0, false}
	}
}

const (
	warpSize     = 32
	registers    = 65536 // per multiprocessor
	registerUnit = 256   // allocation unit of a warp's registers
	maxThreads   = 1024
	sharedUnit   = 128 // allocation unit of a block's shared memory
)

// Blocks returns how many blocks of the given size can be resident on a multiprocessor. It computes
// this as CUDA's occupancy calculator does. regs is the number of registers per thread, and shared
// is the number of bytes of shared memory per block. Blocks ignores the kernel's own thread limit.
func (m Multiprocessor) Blocks(threads, regs int, shared uint64) int {
	if threads <= 0 || threads > maxThreads {
		return 0
	}
	warps := (threads + warpSize - 1) / warpSize
	blocks := min(m.blocks, m.threads/warpSize/warps)
	if regs > 0 {
		perWarp := int(roundUp(uint64(regs*warpSize), registerUnit))
		blocks = min(blocks, registers/perWarp/warps)
	}
	shared = roundUp(shared+uint64(m.sharedReserved), sharedUnit)
	if shared > uint64(m.sharedReserved) && shared > 0 {
		blocks = min(blocks, m.shared/int(shared))
	}
	return blocks
}

// Shared returns how many bytes of shared memory each block can have if the given number of blocks
// is resident.
func (m Multiprocessor) Shared(blocks int) int { return m.shared / blocks / sharedUnit * sharedUnit }

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

// ContextLimits returns the initial values of a context's limits.
func ContextLimits() map[cu.CUlimit]uintptr {
	return map[cu.CUlimit]uintptr{
		cu.CU_LIMIT_STACK_SIZE:                       1024,
		cu.CU_LIMIT_PRINTF_FIFO_SIZE:                 8650752,
		cu.CU_LIMIT_MALLOC_HEAP_SIZE:                 8 << 20,
		cu.CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT: 2048,
		cu.CU_LIMIT_MAX_L2_FETCH_GRANULARITY:         64,
		cu.CU_LIMIT_PERSISTING_L2_CACHE_SIZE:         11796480,
		cu.CU_LIMIT_SHMEM_SIZE:                       232448,
		cu.CU_LIMIT_CIG_ENABLED:                      0,
	}
}

// MaxStack is the hardware limit on one thread's local memory, in bytes.
const MaxStack = 512 << 10
