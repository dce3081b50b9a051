// Package launch validates kernel launches. It defines the attributes of functions, launches and
// streams, the rules for grids, blocks and clusters, and how arguments are laid out. It also
// computes occupancy. It does not use handles and needs no lock.
package launch

import (
	"cmp"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/spec"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

const (
	success           = cu.CUDA_SUCCESS
	errInvalidValue   = cu.CUDA_ERROR_INVALID_VALUE
	errNotSupported   = cu.CUDA_ERROR_NOT_SUPPORTED
	errInvalidCluster = cu.CUDA_ERROR_INVALID_CLUSTER_SIZE
)

// Launch describes a kernel launch without its arguments.
type Launch struct {
	Function    *Function
	Grid, Block vm.Dim3
	Shared      uint32 // bytes of dynamic shared memory
	Attrs       Attributes
}

// Check returns success, or the result code with which a driver rejects the launch.
func (l *Launch) Check() cu.CUresult {
	f := l.Function
	g, b := l.Shape()
	threads := b.Count()
	switch {
	case g.X == 0 || g.Y == 0 || g.Z == 0, g.X > 1<<31-1, g.Y > 65535, g.Z > 65535,
		b.X == 0 || b.Y == 0 || b.Z == 0, b.X > maxBlock, b.Y > maxBlock, b.Z > 64, threads > maxBlock:
		return errInvalidValue
	case threads > uint64(f.Info.MaxThreads):
		return errInvalidValue
	case f.Info.ReqBlock != vm.Dim3{} && f.Info.ReqBlock != b:
		return errInvalidValue
	case int64(l.Shared) > int64(f.MaxDynamicShared), f.Info.LocalBytes >= spec.MaxStack:
		return errInvalidValue
	case f.Info.SharedBytes+int(l.Shared) > f.limits().SharedOptin:
		return errInvalidValue // no block of this device can have that much shared memory
	case f.code.BlockBytes(b, l.Shared) > f.memory:
		return cu.CUDA_ERROR_OUT_OF_MEMORY
	}
	if r := l.checkCluster(); r != success {
		return r
	}
	if l.Attrs.Cooperative != 0 && g.Count() > f.resident(int(threads), l.Shared) {
		return cu.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
	}
	return success
}

// Cluster returns the cluster size of the launch. It is zero if the launch has no clusters.
func (l *Launch) Cluster() vm.Dim3 {
	if l.Attrs.Cluster != (vm.Dim3{}) {
		return l.Attrs.Cluster
	}
	return l.Function.cluster
}

const (
	portableCluster = 8
	largestCluster  = 16
)

func (l *Launch) checkCluster() cu.CUresult {
	d, f := l.Cluster(), l.Function
	if d == (vm.Dim3{}) {
		if f.Info.Explicit {
			return errInvalidCluster
		}
		return success
	}
	limit := uint64(f.largestCluster())
	if most := uint64(f.Info.MaxCluster); most != 0 {
		limit = min(limit, most)
	}
	required := f.Info.ReqCluster
	grid, _ := l.Shape()
	switch {
	case !f.limits().Clusters:
		return errNotSupported
	case d.Count() == 0 || d.Count() > limit,
		grid.X%d.X != 0 || grid.Y%d.Y != 0 || grid.Z%d.Z != 0:
		return errInvalidCluster
	case required != vm.Dim3{} && required != d:
		return errInvalidCluster
	}
	return success
}

// Shape returns the grid and the block that run. With .blocksareclusters, the launch's grid counts
// clusters, and a block of one thread stands for the block size that the kernel requires.
func (l *Launch) Shape() (grid, block vm.Dim3) {
	info := &l.Function.Info
	if !info.ClusterGrid {
		return l.Grid, l.Block
	}
	c := info.ReqCluster
	grid, block = vm.Dim3{X: l.Grid.X * c.X, Y: l.Grid.Y * c.Y, Z: l.Grid.Z * c.Z}, l.Block
	if block == (vm.Dim3{X: 1, Y: 1, Z: 1}) {
		block = info.ReqBlock
	}
	return grid, block
}

// ActiveClusters returns how many clusters of the launch can be resident on the device at once.
// sized reports whether the caller specified a cluster size, which may be zero.
func (l *Launch) ActiveClusters(sized bool) (int32, cu.CUresult) {
	size := l.Cluster()
	if size == (vm.Dim3{}) && !sized {
		return 0, success
	}
	if r := l.checkCluster(); r != success || size.Count() == 0 {
		return 0, cmp.Or(r, errInvalidCluster)
	}
	threads := int(l.Block.X * l.Block.Y * l.Block.Z)
	return int32(l.Function.resident(threads, l.Shared) / size.Count()), success
}
