package emulator

import "sync/atomic"

// Stats counts what the emulated devices did since New.
type Stats struct {
	Calls         uint64 // of driver functions
	Launches      uint64 // of kernels that began, in streams and in graphs
	GraphLaunches uint64
	GraphNodes    uint64 // that ran, the nodes of child graphs and bodies included
	Copies        uint64
	BytesCopied   uint64
	Fills         uint64
	HostCalls     uint64 // of host functions and stream callbacks
	Faults        uint64 // kernels and copies that failed
}

// counters is Stats while it grows.
type counters struct {
	calls, launches, graphLaunches, graphNodes atomic.Uint64
	copies, bytes, fills, hostCalls, faults    atomic.Uint64
}

func (c *counters) copied(n uint64) {
	c.copies.Add(1)
	c.bytes.Add(n)
}

// Stats returns the counts. It may be called at any time.
func (e *Emulator) Stats() Stats {
	c := &e.stats
	return Stats{
		Calls: c.calls.Load(), Launches: c.launches.Load(), GraphLaunches: c.graphLaunches.Load(),
		GraphNodes: c.graphNodes.Load(), Copies: c.copies.Load(), BytesCopied: c.bytes.Load(),
		Fills: c.fills.Load(), HostCalls: c.hostCalls.Load(), Faults: c.faults.Load(),
	}
}
