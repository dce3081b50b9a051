package driver

import "unsafe"

// LaunchKernel puts a launch into the batch that has no attributes: CuLaunchKernel.
// What p says is read at once, the arguments that it points to when the batch
// runs.
func (b *Batch) LaunchKernel(s CUstream, p *CUDA_KERNEL_NODE_PARAMS) {
	w := b.calls.Add11(b.d.Proc(FnCuLaunchKernel))
	w[0] = uintptr(p.Func)
	w[1], w[2], w[3] = uintptr(p.GridDimX), uintptr(p.GridDimY), uintptr(p.GridDimZ)
	w[4], w[5], w[6] = uintptr(p.BlockDimX), uintptr(p.BlockDimY), uintptr(p.BlockDimZ)
	w[7] = uintptr(p.SharedMemBytes)
	w[8] = uintptr(s)
	w[9] = uintptr(unsafe.Pointer(p.KernelParams))
	w[10] = 0
}

// GraphLaunch is CuGraphLaunch.
func (b *Batch) GraphLaunch(exec CUgraphExec, s CUstream) {
	c := b.calls.Add(b.d.Proc(FnCuGraphLaunch), 2)
	c.SetWord(0, uintptr(exec))
	c.SetWord(1, uintptr(s))
}

// SameRefs reports whether two launches of the same context refer to the same
// things: whoever holds those of one holds those of the other.
func (l *Launch) SameRefs(of *Launch) bool {
	if of == nil || l.life != of.life || len(l.mem) != len(of.mem) {
		return false
	}
	for i, m := range l.mem {
		if m != of.mem[i] {
			return false
		}
	}
	return true
}
