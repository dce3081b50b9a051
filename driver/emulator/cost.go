package emulator

import (
	"time"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// CostModel says how long things take on a device, for tests and for rough
// comparisons of two ways to do the same thing: with it, the times of events are
// simulated and the same in every run. It is deliberately simple:
//
//   - The host's clock moves by Submit for each piece of work that it submits,
//     and to the end of what it waits for. What the program does in between
//     takes no time.
//   - Work begins when it was submitted, when what is before it in its stream
//     has ended, and when the events that its stream waits for are reached; a
//     node of a graph when the nodes that it depends on have ended.
//   - Work that may run at the same time does, and neither slows the other down.
//   - A kernel takes as long as its instructions or its accesses to global
//     memory do, whichever is longer. A grid of fewer blocks than
//     multiprocessors uses as many multiprocessors as it has blocks.
//
// Kernels that wait for each other in loops execute a number of instructions
// that differs from run to run, unless Config.Workers is 1; so does the order of
// calls that several goroutines make.
type CostModel struct {
	// Submit is what submitting a kernel, a copy, a fill, an event or a graph
	// costs the host.
	Submit time.Duration
	// Kernel is from the place of a kernel in its stream to its first
	// instruction; GraphKernel the same in a graph.
	Kernel, GraphKernel time.Duration
	// Graph is from the place of a graph's launch to its first node.
	Graph time.Duration
	// Copy is what a copy or fill takes that moves nothing.
	Copy time.Duration
	// HostFunction is what calling a function of the host takes.
	HostFunction time.Duration
	// HostBandwidth and DeviceBandwidth are bytes a second, over the bus and of
	// the device's memory. 0 is without bound.
	HostBandwidth, DeviceBandwidth float64
	// InstructionRate is the instructions of single threads that a
	// multiprocessor executes in a second. 0 is without bound.
	InstructionRate float64
}

// H200 is a cost model with the figures of an H200 in round numbers. What it
// predicts is the order of magnitude, not the time.
func H200() *CostModel {
	return &CostModel{
		Submit: 2500 * time.Nanosecond,
		Kernel: 1500 * time.Nanosecond, GraphKernel: 1000 * time.Nanosecond,
		Graph: 4 * time.Microsecond, Copy: 2 * time.Microsecond, HostFunction: 10 * time.Microsecond,
		HostBandwidth: 50e9, DeviceBandwidth: 4.5e12,
		InstructionRate: 128 * 1.98e9, // four schedulers of 32 lanes
	}
}

// kernel is the time that a kernel takes.
func (m *CostModel) kernel(n *kernelNode, sms int, s *vm.Stats) time.Duration {
	grid, _ := n.shape()
	used := float64(min(grid.Count(), uint64(sms)))
	g := &s.Counts.Global
	sectors := g.Loads.Transactions + g.Stores.Transactions + g.Atomics.Transactions
	const sector = 32
	return max(over(s.LaneInstructions, m.InstructionRate*used), over(sectors*sector, m.DeviceBandwidth))
}

// copy is the time that moving n bytes takes.
func (m *CostModel) copy(n uint64, way direction) time.Duration {
	if way == onDevice {
		return m.Copy + over(2*n, m.DeviceBandwidth) // read and written
	}
	return m.Copy + over(n, m.HostBandwidth)
}

// fill is the time that writing n bytes takes.
func (m *CostModel) fill(n uint64) time.Duration { return m.Copy + over(n, m.DeviceBandwidth) }

func over(n uint64, rate float64) time.Duration {
	if rate == 0 {
		return 0
	}
	return time.Duration(float64(n) / rate * 1e9)
}
