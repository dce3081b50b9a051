package emulator

import (
	"slices"
	"sync"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// Profile is what the instructions of kernels did, counted if Config.Profile or
// Config.CostModel is set.
type Profile struct {
	Launches uint64
	// WarpInstructions and LaneInstructions count the emulator's own, of which a
	// PTX instruction can be several.
	WarpInstructions, LaneInstructions uint64
	// Opcodes are the PTX instructions, by opcode with its modifiers:
	// "ld.global.f32".
	Opcodes map[string]OpcodeCount
	// Global and Shared are the accesses to memory. Generic addresses count
	// where they point; local memory, parameters and constants are left out.
	Global, Shared MemoryCount
}

// OpcodeCount is how often an instruction was executed: by warps, and by lanes
// whose guard let it.
type OpcodeCount struct{ Warps, Lanes uint64 }

// MemoryCount is the traffic of one kind of memory.
type MemoryCount struct{ Loads, Stores, Atomics Traffic }

// Traffic is what accesses of one kind cost a device.
type Traffic struct {
	Requests uint64 // instructions of warps
	Bytes    uint64 // that the lanes asked for, each lane counted
	// Transactions are the sectors of 32 bytes that requests to global memory
	// touch, and the passes that requests to shared memory take because of bank
	// conflicts.
	Transactions uint64
	// Ideal is what as many distinct bytes need at best.
	Ideal uint64
	// Coalesced are the requests that took no more than that.
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

// Profile returns the counts of a kernel since New, of all kernels with that
// name; those of all kernels together for "". It may be called at any time and
// knows the kernels that have ended.
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

// ProfiledKernels returns the names, in order, of the kernels that Profile knows.
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

// profiled reports whether launches count.
func (e *Emulator) profiled() bool { return e.cfg.Profile || e.simulated() }
