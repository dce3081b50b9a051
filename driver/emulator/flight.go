package emulator

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// Asynchronous copies from and to page-locked memory, from their submission to
// where the host makes sure that they have ended. In between the host may not
// write that memory.

// flight is one side of such a copy: its contents as they were when the device
// had last to do with them.
type flight struct {
	dependency
	addr   uint64
	size   uint64
	target bool // the copy writes the memory
	made   *vm.Trace

	mu   sync.Mutex
	live []byte
	was  []byte
	over bool // the device writes the memory after the copy
}

// depart begins the flights of a copy that is about to be submitted to s.
func (e *Emulator) depart(s *stream, op *copyOp) {
	if !e.checks(CheckHostMemory) {
		return
	}
	e.overwritten(op.dst.addr+op.dst.offset(0, 0), op.dst.span(op.extent)-op.dst.offset(0, 0))
	for _, p := range []*place{&op.src, &op.dst} {
		first := p.offset(0, 0)
		addr, n := p.addr+first, p.span(op.extent)-first
		if a := e.allocationAt(addr); p.bytes != nil || a == nil || !a.isHost() || !op.extent.dense(p) {
			continue
		}
		b, err := e.mem.Bytes(addr, n)
		if err != nil {
			continue
		}
		f := &flight{dependency: dependency{s, s.submitted + 1}, addr: addr, size: n, target: p == &op.dst, made: vm.Here(), live: b, was: bytes.Clone(b)}
		e.flights = append(e.flights, f)
		op.flights = append(op.flights, f)
	}
}

// overwritten ends the looking at memory that the device is told to write.
func (e *Emulator) overwritten(addr, n uint64) {
	for _, f := range e.flights {
		if addr < f.addr+f.size && f.addr < addr+n {
			f.look(e)
			f.mu.Lock()
			f.over = true
			f.mu.Unlock()
		}
	}
}

// overwrittenBy is overwritten for a kernel: it may write what its arguments
// point to.
func (e *Emulator) overwrittenBy(n *kernelNode) {
	for i := 0; len(e.flights) != 0 && i+8 <= len(n.args); i += 4 {
		if a := e.allocationAt(binary.LittleEndian.Uint64(n.args[i:])); a != nil && a.isHost() {
			e.overwritten(a.addr, a.size)
		}
	}
}

// look compares the memory with what it was.
func (f *flight) look(e *Emulator) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over || bytes.Equal(f.live, f.was) {
		return
	}
	at := 0
	for f.live[at] == f.was[at] {
		at++
	}
	f.over = true
	side := "source"
	if f.target {
		side = "destination"
	}
	e.findPlain(kindHost, f.made.String()+side, fmt.Sprintf(
		"the host wrote byte %d of the %s of an asynchronous copy of %d bytes before it made sure that the copy had ended; the copy was submitted at %s; %s",
		at, side, f.size, f.made, e.mem.Nearest(f.addr)))
}

// took is told when the copy has run: the destination is now as it made it.
func (op *copyOp) took(e *Emulator, before bool) {
	for _, f := range op.flights {
		if before {
			f.look(e)
			continue
		}
		f.mu.Lock()
		copy(f.was, f.live)
		f.mu.Unlock()
	}
}

// landed ends the flights that the host knows to have ended.
func (e *Emulator) landed() {
	e.flights = slices.DeleteFunc(e.flights, func(f *flight) bool {
		if e.hostKnows[f.s.id] < f.seq {
			return false
		}
		f.look(e)
		return true
	})
}

// checkPointers looks at the copy nodes of a graph that is launched.
func (e *Emulator) checkPointers(p *plan) {
	if !e.checks(CheckGraphPointers) {
		return
	}
	p.each(func(n nodeParams) {
		c, ok := n.(*copyNode)
		if !ok {
			return
		}
		for _, s := range []struct {
			p    *place
			verb string
		}{{&c.src, "reads"}, {&c.dst, "writes"}} {
			if s.p.host != nil {
				e.findPlain(kindPageable, fmt.Sprint(s.p.host, s.verb, c.made), fmt.Sprintf(
					"a copy node %s %d bytes of pageable host memory at each launch of its graph; it was made at %s. "+
						"Use page-locked memory, or registered memory, that lives as long as the graph", s.verb, c.extent.bytes(), c.made))
			}
		}
	})
}
