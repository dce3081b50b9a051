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
	w := (*[launchWords]uintptr)(call)
	*w = l.words
	w[8] = uintptr(s)
	if args > 0 {
		room := unsafe.Add(call, unsafe.Sizeof(*w))
		w[9] = uintptr(room)
		l.copyArgs(room, args)
	}
}

// setWords lays out what Batch.Launch passes beside the arguments.
func (l *Launch) setWords() {
	n := &l.node
	l.words = [launchWords]uintptr{
		uintptr(n.Func),
		uintptr(n.GridDimX), uintptr(n.GridDimY), uintptr(n.GridDimZ),
		uintptr(n.BlockDimX), uintptr(n.BlockDimY), uintptr(n.BlockDimZ),
		uintptr(n.SharedMemBytes),
	}
}

// copyArgs copies the addresses of the arguments, made those of the copies, and
// behind them the arguments.
func (l *Launch) copyArgs(room unsafe.Pointer, args int) {
	bytes := unsafe.Add(room, uintptr(args)*addressSize)
	moved := uintptr(bytes) - uintptr(unsafe.Pointer(unsafe.SliceData(l.store)))
	for _, p := range l.ptrs {
		*(*uintptr)(room) = uintptr(p) + moved
		room = unsafe.Add(room, addressSize)
	}
	for _, v := range l.store { // a few words: less than a call of copy
		*(*uint64)(room) = v
		room = unsafe.Add(room, addressSize)
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
