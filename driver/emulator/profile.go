package emulator

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/purecuda/cuda/driver/emulator/internal/clock"
	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// Profile counts the instructions and memory accesses of kernels. It requires Config.Profile or
// Config.CostModel.
type Profile struct {
	Launches uint64
	// WarpInstructions and LaneInstructions count the emulator's own instructions. One PTX
	// instruction may compile to several of them.
	WarpInstructions, LaneInstructions uint64
	// Opcodes counts the PTX instructions by opcode with modifiers, such as "ld.global.f32".
	Opcodes map[string]OpcodeCount
	// Global and Shared count memory accesses. Accesses by generic address count for the memory
	// that the address points to. Accesses to local memory, parameters and constants are not
	// counted.
	Global, Shared MemoryCount
}

// OpcodeCount counts how often an instruction was executed: by warps, and by lanes whose guard was
// true.
type OpcodeCount struct{ Warps, Lanes uint64 }

// MemoryCount holds the traffic to one kind of memory.
type MemoryCount struct{ Loads, Stores, Atomics Traffic }

// Traffic is the cost that accesses of one kind would have on a device.
type Traffic struct {
	Requests uint64 // number of memory instructions that warps executed
	Bytes    uint64 // number of bytes that all lanes requested
	// Transactions counts the 32-byte sectors that requests to global memory touch. For shared
	// memory, it counts the passes that bank conflicts cause.
	Transactions uint64
	// Ideal is the minimum number of transactions needed for the same distinct bytes.
	Ideal uint64
	// Coalesced counts the requests that needed only their ideal number of transactions.
	Coalesced uint64
}

type profiles struct {
	mu   sync.Mutex
	byID map[string]*profile
}

type profile struct {
	launches uint64
	stats    vm.Stats
}

func (p *profiles) add(kernel string, s *vm.Stats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byID == nil {
		p.byID = make(map[string]*profile)
	}
	k := p.byID[kernel]
	if k == nil {
		k = &profile{}
		p.byID[kernel] = k
	}
	k.launches++
	k.stats.WarpInstructions += s.WarpInstructions
	k.stats.LaneInstructions += s.LaneInstructions
	k.stats.Counts.Add(&s.Counts)
}

// Profile returns the counts since New for all kernels with the given name, or for all kernels if
// the name is "". It includes only kernels that have ended. It may be called at any time.
func (e *Emulator) Profile(kernel string) Profile {
	if e == nil {
		return Profile{}
	}
	e.profiles.mu.Lock()
	defer e.profiles.mu.Unlock()
	var sum profile
	for name, k := range e.profiles.byID {
		if kernel == "" || name == kernel {
			sum.launches += k.launches
			sum.stats.WarpInstructions += k.stats.WarpInstructions
			sum.stats.LaneInstructions += k.stats.LaneInstructions
			sum.stats.Counts.Add(&k.stats.Counts)
		}
	}
	return sum.public()
}

// ProfiledKernels returns the sorted names of the kernels for which there are counts.
func (e *Emulator) ProfiledKernels() []string {
	if e == nil {
		return nil
	}
	e.profiles.mu.Lock()
	defer e.profiles.mu.Unlock()
	names := make([]string, 0, len(e.profiles.byID))
	for name := range e.profiles.byID {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (p *profile) public() Profile {
	c := &p.stats.Counts
	out := Profile{Launches: p.launches, WarpInstructions: p.stats.WarpInstructions, LaneInstructions: p.stats.LaneInstructions,
		Opcodes: make(map[string]OpcodeCount, len(c.Opcodes)), Global: memoryCount(&c.Global), Shared: memoryCount(&c.Shared)}
	for op, n := range c.Opcodes {
		out.Opcodes[op] = OpcodeCount(n)
	}
	return out
}

func memoryCount(m *vm.MemoryTraffic) MemoryCount {
	return MemoryCount{Traffic(m.Loads), Traffic(m.Stores), Traffic(m.Atomics)}
}

func (e *Emulator) profiled() bool { return e.cfg.Profile || e.simulated() }

// Stats holds counts since New.
type Stats struct {
	Calls         uint64 // number of calls to driver functions
	Launches      uint64 // number of kernels started, in streams and in graphs
	GraphLaunches uint64
	GraphNodes    uint64 // nodes executed, including those in child graphs and conditional bodies
	Copies        uint64
	BytesCopied   uint64
	// HostToDevice, DeviceToHost, DeviceToDevice and HostToHost count copies by where the source
	// and destination are. Page-locked memory counts as host memory.
	HostToDevice, DeviceToHost, DeviceToDevice, HostToHost CopyCount
	Fills                                                  uint64
	HostCalls                                              uint64 // number of calls to host functions and stream callbacks
	Faults                                                 uint64 // number of kernels and copies that failed
}

// CopyCount holds the number of copies and the number of bytes copied.
type CopyCount struct{ Copies, Bytes uint64 }

// counters holds the running totals for Stats.
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

// Stats returns the current counts. It may be called at any time.
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

type direction int

const (
	onHost direction = iota
	toDevice
	fromDevice
	onDevice
	numDirections
)

// direction returns the direction of a copy. Page-locked memory counts as host memory, and managed
// memory as device memory.
func (e *Emulator) direction(dst, src *transfer.Side) direction {
	switch to, from := e.onHost(dst), e.onHost(src); {
	case to && from:
		return onHost
	case to:
		return fromDevice
	case from:
		return toDevice
	}
	return onDevice
}

func (e *Emulator) onHost(p *transfer.Side) bool {
	if p.Host != nil || p.Staged != nil {
		return true
	}
	a := e.allocationAt(p.Addr + p.Offset(0, 0))
	return a != nil && a.isHost()
}

// CostModel is the cost of operations on a device, for tests and for rough comparisons of two
// programs. With a cost model, the times of events are simulated and are the same in every run. The
// model is deliberately simple:
//
//   - Each submission of work advances the host's clock by Submit. A wait
//     advances the clock to the end of the work. The program's own code takes
//     no time.
//   - Submitted work begins once the previous work in its stream has ended and
//     the events that its stream waits for have been reached. A node of a graph
//     begins once its dependencies have ended.
//   - Work that may run concurrently does so, without being slowed down.
//   - A kernel takes as long as its instructions or its accesses to global
//     memory, whichever is longer. A grid with fewer blocks than the device has
//     multiprocessors uses one multiprocessor per block.
//
// Simulated times can still vary for two reasons. If Config.Workers is not 1, kernels that wait for
// each other in loops execute a varying number of instructions. If several goroutines make calls,
// the order of the calls varies.
type CostModel struct {
	// Submit is the time that the host needs to submit a kernel, a copy, a fill, an event or a
	// graph.
	Submit time.Duration
	// Kernel is the time from when the stream reaches a kernel to the kernel's first instruction.
	// GraphKernel is the same for a kernel in a graph.
	Kernel, GraphKernel time.Duration
	// Graph is the time from when the stream reaches a graph launch to the graph's first node.
	Graph time.Duration
	// Copy is the fixed part of the time that a copy or fill takes.
	Copy time.Duration
	// HostFunction is the time to call a host function.
	HostFunction time.Duration
	// HostBandwidth and DeviceBandwidth are the bandwidths of the bus and of device memory, in
	// bytes per second. 0 means unlimited.
	HostBandwidth, DeviceBandwidth float64
	// InstructionRate is the number of instructions that a multiprocessor executes per second,
	// counted for each thread. 0 means unlimited.
	InstructionRate float64
}

// H200 returns a cost model with rounded figures for an H200. It predicts orders of magnitude, not
// times.
func H200() *CostModel {
	return &CostModel{
		Submit: 2500 * time.Nanosecond,
		Kernel: 1500 * time.Nanosecond, GraphKernel: 1000 * time.Nanosecond,
		Graph: 4 * time.Microsecond, Copy: 2 * time.Microsecond, HostFunction: 10 * time.Microsecond,
		HostBandwidth: 50e9, DeviceBandwidth: 4.5e12,
		InstructionRate: 128 * 1.98e9, // four schedulers with 32 lanes each
	}
}

func (m *CostModel) kernel(n *kernelNode, sms int, s *vm.Stats) time.Duration {
	grid, _ := n.Shape()
	used := float64(min(grid.Count(), uint64(sms)))
	g := &s.Counts.Global
	sectors := g.Loads.Transactions + g.Stores.Transactions + g.Atomics.Transactions
	const sector = 32
	return max(over(s.LaneInstructions, m.InstructionRate*used), over(sectors*sector, m.DeviceBandwidth))
}

func (m *CostModel) copy(n uint64, way direction) time.Duration {
	if way == onDevice {
		return m.Copy + over(2*n, m.DeviceBandwidth) // each byte is read and written
	}
	return m.Copy + over(n, m.HostBandwidth)
}

func (m *CostModel) fill(n uint64) time.Duration { return m.Copy + over(n, m.DeviceBandwidth) }

func over(n uint64, rate float64) time.Duration {
	if rate == 0 {
		return 0
	}
	return time.Duration(float64(n) / rate * 1e9)
}

// With Config.CostModel, time is simulated: the host has a clock, and every task in a stream has an
// end time. The emulator's lock guards both.

func (e *Emulator) simulated() bool { return e.cfg.CostModel != nil }

// SimulatedTime returns the host's simulated time since New. Without Config.CostModel, it returns
// 0.
func (e *Emulator) SimulatedTime() time.Duration {
	if e == nil {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.hostTime
}

// submitted advances the host's clock by the cost of submitting op and returns the new time. A task
// without an operation costs nothing, because it depends on this machine's speed whether there is
// such a task.
func (e *Emulator) submitted(op operation) time.Duration {
	if e.simulated() && op != nil {
		e.hostTime += e.cfg.CostModel.Submit
	}
	return e.hostTime
}

// hostReached advances the host's clock to the end of work for which the host has waited.
func (e *Emulator) hostReached(t time.Duration) { e.hostTime = max(e.hostTime, t) }

// end returns the simulated time at which the work ended.
func (d dependency) end() time.Duration {
	if d.seq == 0 || d.seq > uint64(len(d.s.ends)) {
		return 0
	}
	return d.s.ends[d.seq-1]
}

// settled reports whether the work has ended, both on this machine and in simulated time. Work
// whose simulated end is after the host's simulated time still delays later work.
func (d dependency) settled() bool { return d.met() && d.end() <= d.s.ctx.e.hostTime }

// begin sets the clock to the start time of a task.
func (x *execution) begin(t *task) {
	x.now = max(x.now, t.submitted)
	for _, d := range t.deps {
		x.now = max(x.now, d.end())
	}
}

func (s *stream) finish(x *execution) {
	if x.e.simulated() {
		s.ends = append(s.ends, x.now)
		s.now = x.now
	}
}

// spend advances the clock by a cost. It has no effect without a cost model.
func (x *execution) spend(cost func(m *CostModel) time.Duration) {
	if m := x.e.cfg.CostModel; m != nil {
		x.now += cost(m)
	}
}

func (x *execution) time() time.Duration {
	if x.e.simulated() {
		return x.now
	}
	return clock.Now()
}

// timeline records the end times of a plan's steps in one launch.
type timeline struct {
	x     *execution
	start time.Duration
	ends  []time.Duration
}

// timeline returns a new timeline for p. If time is not simulated, it returns nil.
func (x *execution) timeline(p *plan) *timeline {
	if !x.e.simulated() {
		return nil
	}
	return &timeline{x, x.now, make([]time.Duration, len(p.steps))}
}

func (t *timeline) begin(s *step) {
	if t == nil {
		return
	}
	t.x.now = t.start
	for _, d := range s.deps {
		t.x.now = max(t.x.now, t.ends[d.step])
	}
}

func (t *timeline) end(i int) {
	if t != nil {
		t.ends[i] = t.x.now
	}
}

// close sets the clock to the end of the last step.
func (t *timeline) close() {
	if t == nil {
		return
	}
	t.x.now = t.start
	for _, end := range t.ends {
		t.x.now = max(t.x.now, end)
	}
}
