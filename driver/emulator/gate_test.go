package emulator_test

import "sync/atomic"

// open lets the stream go on.
func (g *gate) open() { atomic.StoreUint32(g.flag, 1) }
