package emulator

import (
	"slices"
	"sync"

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
