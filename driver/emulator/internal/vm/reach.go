package vm

import "sync/atomic"

// Reach says which devices may read and write a region. It may be changed while kernels run. A
// change takes effect from their next blocks on.
type Reach struct{ read, write atomic.Uint64 }

// Set sets the access rights of a device.
func (r *Reach) Set(device int, read, write bool) {
	for set, on := range map[*atomic.Uint64]bool{&r.read: read, &r.write: write} {
		if on {
			set.Or(1 << uint(device))
		} else {
			set.And(^(uint64(1) << uint(device)))
		}
	}
}

// May returns the access rights of a device.
func (r *Reach) May(device int) (read, write bool) {
	return r.read.Load()>>uint(device)&1 != 0, r.write.Load()>>uint(device)&1 != 0
}

// allowed reports whether the region's Reach allows access by the launch's device.
func (r *launchRun) allowed(g *Region, write bool) bool {
	reads, writes := g.Reach.May(r.opts.Device.Ordinal)
	return writes || reads && !write
}
