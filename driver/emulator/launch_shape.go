package emulator

import "github.com/purecuda/cuda/driver/emulator/internal/vm"

// shape returns the grid and the block that run. With .blocksareclusters, the grid of a launch
// counts clusters. A block of one thread then stands for the block that the kernel requires.
func (n *kernelNode) shape() (grid, block vm.Dim3) {
	if !n.fn.info.ClusterGrid {
		return n.grid, n.block
	}
	grid, block = times(n.grid, n.fn.info.ReqCluster), n.block
	if block == (vm.Dim3{X: 1, Y: 1, Z: 1}) {
		block = n.fn.info.ReqBlock
	}
	return grid, block
}

func times(a, b vm.Dim3) vm.Dim3 { return vm.Dim3{X: a.X * b.X, Y: a.Y * b.Y, Z: a.Z * b.Z} }
