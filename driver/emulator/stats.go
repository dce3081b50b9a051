package emulator

import "sync/atomic"

// Stats counts what the emulated devices did since New.
type Stats struct {
	Calls         uint64 // of driver functions
	Launches      uint64 // of kernels that began, in streams and in graphs
	GraphLaunches uint64
	GraphNodes    uint64 // of nodes that ran, the nodes of child graphs and bodies included
	Copies        uint64
	BytesCopied   uint64
	// The copies by the location of their ends. Page-locked memory is the host's.
	HostToDevice, DeviceToHost, DeviceToDevice, HostToHost CopyCount
	Fills                                                  uint64
	HostCalls                                              uint64 // of host functions and stream callbacks
	Faults                                                 uint64 // kernels and copies that failed
}

// CopyCount is a number of copies and the bytes they copied.
type CopyCount struct{ Copies, Bytes uint64 }

// counters holds the running counts of Stats.
type counters struct {
	calls, launches, graphLaunches, graphNodes atomic.Uint64
	copies, bytes                              [numDirections]atomic.Uint64
	fills, hostCalls, faults                   atomic.Uint64
}

func (c *counters) copied(n uint64, way direction) {
	c.copies[way].Add(1)
	c.bytes[way].Add(n)
}

func (c *counters) moved(way direction) CopyCount {
	return CopyCount{c.copies[way].Load(), c.bytes[way].Load()}
}

// Stats returns the counts. It may be called at any time.
func (e *Emulator) Stats() Stats {
	if e == nil {
		return Stats{}
	}
	c := &e.stats
	s := Stats{
		Calls: c.calls.Load(), Launches: c.launches.Load(), GraphLaunches: c.graphLaunches.Load(),
		GraphNodes: c.graphNodes.Load(), HostToDevice: c.moved(toDevice), DeviceToHost: c.moved(fromDevice),
		DeviceToDevice: c.moved(onDevice), HostToHost: c.moved(onHost),
		Fills: c.fills.Load(), HostCalls: c.hostCalls.Load(), Faults: c.faults.Load(),
	}
	for _, n := range []CopyCount{s.HostToDevice, s.DeviceToHost, s.DeviceToDevice, s.HostToHost} {
		s.Copies += n.Copies
		s.BytesCopied += n.Bytes
	}
	return s
}
