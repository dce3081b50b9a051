package emulator_test

import "sync/atomic"

// open unblocks the stream.
func (g *gate) open() { atomic.StoreUint32(g.flag, 1) }

func (g *gate) isOpen() bool { return atomic.LoadUint32(g.flag) != 0 }
