package driver

import (
	"github.com/purecuda/cuda/internal/launch"
)

// setWords stores the words that a Launches passes in addition to the arguments.
func (l *Launch) setWords() {
	n := &l.b.Node
	l.b.Words = [launch.Words]uintptr{
		uintptr(n.Func),
		uintptr(n.GridDimX), uintptr(n.GridDimY), uintptr(n.GridDimZ),
		uintptr(n.BlockDimX), uintptr(n.BlockDimY), uintptr(n.BlockDimZ),
		uintptr(n.SharedMemBytes),
	}
	l.b.Shape = l.k.shapeOf(&l.b.Words)
}

// kernelShape is the layout of a kernel's first launch.
type kernelShape struct {
	words [launch.Words]uintptr
	stamp launch.Stamp
}

// shapeOf returns the number of a layout. Launches of one kernel share a number if they have the
// configuration of the kernel's first launch and its parameters are known.
func (k *Kernel) shapeOf(words *[launch.Words]uintptr) launch.Stamp {
	if !k.known {
		return launch.NewStamp()
	}
	s := k.shape.Load()
	if s == nil {
		s = &kernelShape{*words, launch.NewStamp()}
		if !k.shape.CompareAndSwap(nil, s) {
			s = k.shape.Load()
		}
	}
	if s.words == *words {
		return s.stamp
	}
	return launch.NewStamp()
}
