package emulator_test

import "sync/atomic"

// open lets the stream go on.
func (g *gate) open() { atomic.StoreUint32(g.flag, 1) }

// isOpen reports whether somebody opened it.
func (g *gate) isOpen() bool { return atomic.LoadUint32(g.flag) != 0 }
