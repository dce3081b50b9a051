package emulator

import (
	"time"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// CostModel says how long things take on a device, for tests and for rough comparisons of two ways
// to do the same thing. With a cost model, the times of events are simulated and are the same in
// every run. It is deliberately simple:
//
//   - The host's clock advances by Submit for each piece of work that it submits,
//     and to the end of what it waits for. The program's own code in between
//     takes no time.
//   - Work begins when it has been submitted, when the work before it in its
//     stream has ended, and when the events that its stream waits for are
//     reached. A node of a graph begins when the nodes it depends on have ended.
//   - Work that may run concurrently does, and neither slows the other down.
//   - A kernel takes as long as its instructions or its accesses to global
//     memory, whichever is longer. A grid with fewer blocks than there are
//     multiprocessors uses as many multiprocessors as it has blocks.
//
// Two things vary from run to run. Kernels that wait for each other in loops execute a varying
// number of instructions, unless Config.Workers is 1. The order of calls from several goroutines
// also varies.
type CostModel struct {
	// Submit is the time the host needs to submit a kernel, a copy, a fill, an event or a graph.
	Submit time.Duration
	// Kernel is the time from a kernel's turn in its stream to its first instruction. GraphKernel
	// is the same for a kernel in a graph.
	Kernel, GraphKernel time.Duration
	// Graph is the time from the turn of a graph launch in its stream to the first node.
	Graph time.Duration
	// Copy is the time of a copy or fill of no bytes.
	Copy time.Duration
	// HostFunction is the time to call a host function.
	HostFunction time.Duration
	// HostBandwidth and DeviceBandwidth are bytes per second, over the bus and of the device's
	// memory. 0 means unlimited.
	HostBandwidth, DeviceBandwidth float64
	// InstructionRate is how many instructions a multiprocessor executes per second, counted for
	// single threads. 0 means unlimited.
	InstructionRate float64
}

// H200 returns a cost model with the rounded figures of an H200. It predicts the order of
// magnitude, not the time.
func H200() *CostModel {
	return &CostModel{
		Submit: 2500 * time.Nanosecond,
		Kernel: 1500 * time.Nanosecond, GraphKernel: 1000 * time.Nanosecond,
		Graph: 4 * time.Microsecond, Copy: 2 * time.Microsecond, HostFunction: 10 * time.Microsecond,
		HostBandwidth: 50e9, DeviceBandwidth: 4.5e12,
		InstructionRate: 128 * 1.98e9, // four schedulers of 32 lanes
	}
}

// kernel returns the time that a kernel takes.
func (m *CostModel) kernel(n *kernelNode, sms int, s *vm.Stats) time.Duration {
	grid, _ := n.shape()
	used := float64(min(grid.Count(), uint64(sms)))
	g := &s.Counts.Global
	sectors := g.Loads.Transactions + g.Stores.Transactions + g.Atomics.Transactions
	const sector = 32
	return max(over(s.LaneInstructions, m.InstructionRate*used), over(sectors*sector, m.DeviceBandwidth))
}

// copy returns the time it takes to copy n bytes.
func (m *CostModel) copy(n uint64, way direction) time.Duration {
	if way == onDevice {
		return m.Copy + over(2*n, m.DeviceBandwidth) // read and written
	}
	return m.Copy + over(n, m.HostBandwidth)
}

// fill returns the time it takes to write n bytes.
func (m *CostModel) fill(n uint64) time.Duration { return m.Copy + over(n, m.DeviceBandwidth) }

func over(n uint64, rate float64) time.Duration {
	if rate == 0 {
		return 0
	}
	return time.Duration(float64(n) / rate * 1e9)
}
