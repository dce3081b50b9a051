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

// Profile holds counts of what the instructions of kernels did. They are collected if
// Config.Profile or Config.CostModel is set.
type Profile struct {
	Launches uint64
	// WarpInstructions and LaneInstructions count the emulator's own instructions. One PTX
	// instruction may be several of them.
	WarpInstructions, LaneInstructions uint64
	// Opcodes counts the PTX instructions by opcode with its modifiers: "ld.global.f32".
	Opcodes map[string]OpcodeCount
	// Global and Shared count the accesses to memory. Generic addresses count where they point.
	// Local memory, parameters and constants are not counted.
	Global, Shared MemoryCount
}

// OpcodeCount says how often an instruction was executed: by warps, and by lanes whose guard was
// true.
type OpcodeCount struct{ Warps, Lanes uint64 }

// MemoryCount is the traffic of one kind of memory.
type MemoryCount struct{ Loads, Stores, Atomics Traffic }

// Traffic says what accesses of one kind would cost a device.
type Traffic struct {
	Requests uint64 // instructions of warps
	Bytes    uint64 // requested by the lanes, each lane counted
	// Transactions counts the sectors of 32 bytes that requests to global memory touch. For shared
	// memory, it counts the passes that requests take because of bank conflicts.
	Transactions uint64
	// Ideal is the minimum number of transactions for the same number of distinct bytes.
	Ideal uint64
	// Coalesced counts the requests that took no more than that minimum.
	Coalesced uint64
}

// profiles are the counts by kernel name.
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

// Profile returns the counts since New of all kernels with the given name, or of all kernels for
// "". It may be called at any time and includes the kernels that have ended.
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

// ProfiledKernels returns the sorted names of the kernels that Profile has counts for.
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

// profiled reports whether launches are counted.
func (e *Emulator) profiled() bool { return e.cfg.Profile || e.simulated() }

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

// direction is the direction of a copy.
type direction int

const (
	onHost direction = iota
	toDevice
	fromDevice
	onDevice
	numDirections
)

// direction depends on where the two ends are. Page-locked memory counts as the host's, managed
// memory as the device's.
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
	grid, _ := n.Shape()
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

// Simulated time, if Config.CostModel is set. Every task of a stream has a time at which it ends,
// and the host has a clock. The emulator's lock guards both.

// simulated reports whether time is simulated.
func (e *Emulator) simulated() bool { return e.cfg.CostModel != nil }

// SimulatedTime returns the host's clock under Config.CostModel: the time since New. Without a cost
// model it returns 0.
func (e *Emulator) SimulatedTime() time.Duration {
	if e == nil {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.hostTime
}

// submitted advances the host's clock by the cost of submitting work, and returns the new time. A
// task that only waits costs nothing, because whether it exists depends on how fast this machine
// is.
func (e *Emulator) submitted(op operation) time.Duration {
	if e.simulated() && op != nil {
		e.hostTime += e.cfg.CostModel.Submit
	}
	return e.hostTime
}

// hostReached advances the host's clock to a time that it has waited for.
func (e *Emulator) hostReached(t time.Duration) { e.hostTime = max(e.hostTime, t) }

// end returns when the work ended in simulated time.
func (d dependency) end() time.Duration {
	if d.seq == 0 || d.seq > uint64(len(d.s.ends)) {
		return 0
	}
	return d.s.ends[d.seq-1]
}

// settled reports whether the work has ended and, in simulated time, ended before the host's
// current time. Otherwise later work may have to begin after it, although there is nothing to wait
// for.
func (d dependency) settled() bool { return d.met() && d.end() <= d.s.ctx.e.hostTime }

// begin sets the stream's clock to the time when a task begins.
func (x *execution) begin(t *task) {
	x.now = max(x.now, t.submitted)
	for _, d := range t.deps {
		x.now = max(x.now, d.end())
	}
}

// finish records when a task has ended.
func (s *stream) finish(x *execution) {
	if x.e.simulated() {
		s.ends = append(s.ends, x.now)
		s.now = x.now
	}
}

// spend advances the clock of the execution by the cost of something.
func (x *execution) spend(cost func(m *CostModel) time.Duration) {
	if m := x.e.cfg.CostModel; m != nil {
		x.now += cost(m)
	}
}

// time returns the time that an event records.
func (x *execution) time() time.Duration {
	if x.e.simulated() {
		return x.now
	}
	return clock.Now()
}

// timeline records when the steps of a plan end in one launch.
type timeline struct {
	x     *execution
	start time.Duration
	ends  []time.Duration
}

// timeline returns a new timeline, or nil without simulated time.
func (x *execution) timeline(p *plan) *timeline {
	if !x.e.simulated() {
		return nil
	}
	return &timeline{x, x.now, make([]time.Duration, len(p.steps))}
}

// begin sets the clock to the time when a step can begin.
func (t *timeline) begin(s *step) {
	if t == nil {
		return
	}
	t.x.now = t.start
	for _, d := range s.deps {
		t.x.now = max(t.x.now, t.ends[d.step])
	}
}

// end records when step i has ended.
func (t *timeline) end(i int) {
	if t != nil {
		t.ends[i] = t.x.now
	}
}

// close sets the clock to the time when all steps have ended.
func (t *timeline) close() {
	if t == nil {
		return
	}
	t.x.now = t.start
	for _, end := range t.ends {
		t.x.now = max(t.x.now, end)
	}
}
