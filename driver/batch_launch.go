package driver

import "unsafe"

// launchWords is the number of arguments of cuLaunchKernel.
const launchWords = 11

// Launch puts a launch into the batch that has no attributes (see
// Launch.Attributes): CuLaunchKernel. Configuration and arguments are copied, so
// l may be changed and put into the batch again.
func (b *Batch) Launch(l *Launch, s CUstream) {
	args := len(l.ptrs)
	call := b.calls.AddRoom(b.launch, launchWords, args+len(l.store))
	n, w := &l.node, (*[launchWords]uintptr)(call)
	w[0] = uintptr(n.Func)
	w[1], w[2], w[3] = uintptr(n.GridDimX), uintptr(n.GridDimY), uintptr(n.GridDimZ)
	w[4], w[5], w[6] = uintptr(n.BlockDimX), uintptr(n.BlockDimY), uintptr(n.BlockDimZ)
	w[7], w[8], w[9], w[10] = uintptr(n.SharedMemBytes), uintptr(s), 0, 0
	if args > 0 {
		room := unsafe.Add(call, unsafe.Sizeof(*w))
		w[9] = uintptr(room)
		l.copyArgs(room)
	}
}

// copyArgs copies the addresses of the arguments, made those of the copies, and
// behind them the arguments.
func (l *Launch) copyArgs(room unsafe.Pointer) {
	at := unsafe.Slice((*uintptr)(room), len(l.ptrs))
	bytes := unsafe.Slice((*uint64)(unsafe.Add(room, uintptr(len(at))*unsafe.Sizeof(at[0]))), len(l.store))
	moved := uintptr(unsafe.Pointer(unsafe.SliceData(bytes))) - uintptr(unsafe.Pointer(unsafe.SliceData(l.store)))
	for i, p := range l.ptrs {
		at[i] = uintptr(p) + moved
	}
	for i, v := range l.store { // a few words: less than a call of copy
		bytes[i] = v
	}
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
