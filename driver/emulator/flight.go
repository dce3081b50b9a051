package emulator

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/order"
	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// A flight begins when an asynchronous copy from or to page-locked memory is submitted. It lasts
// until the host has made sure that the copy has ended. The host must not write that memory during
// a flight.

// flight is one side of a copy in flight, with the contents that the memory had when the device
// last accessed it. The emulator's lock guards all fields. A copy runs without that lock and holds
// mu instead.
type flight struct {
	dependency
	addr   uint64
	size   uint64
	target bool // whether the copy writes the memory
	made   *vm.Trace

	mu          sync.Mutex
	live        []byte
	expected    []byte
	valid       bool // whether expected is valid
	overwritten bool // set if other work writes the memory, so that its contents cannot be checked
}

// writer is work that may write to page-locked memory.
type writer struct {
	dependency
	addr, size uint64
}

// beginFlights records the memory that newly submitted work may write. If that work is a copy,
// beginFlights also begins the copy's flights.
func (e *Emulator) beginFlights(last dependency, op operation) {
	e.writers = slices.DeleteFunc(e.writers, func(w writer) bool { return w.met() })
	e.writes(last, op)
	c, ok := op.(*copyOp)
	if !ok {
		return
	}
	for _, p := range []*transfer.Side{&c.src, &c.dst} {
		first := p.Offset(0, 0)
		addr, n := p.Addr+first, p.Span(c.extent)-first
		if p.Staged != nil || !e.isHostMemory(addr) || !c.extent.Dense(p) {
			continue
		}
		b, err := e.mem.Bytes(addr, n)
		if err != nil {
			continue
		}
		f := &flight{dependency: last, addr: addr, size: n, target: p == &c.dst, made: vm.Here(), live: b}
		if !e.unfinished(f) {
			f.keep()
		}
		e.flights = append(e.flights, f)
		c.flights = append(c.flights, f)
	}
}

func (e *Emulator) isHostMemory(addr uint64) bool {
	a := e.allocationAt(addr)
	return a != nil && a.isHost()
}

// writes records the memory that an operation may write. A kernel may write any memory that its
// arguments point to. A host function may write any memory.
func (e *Emulator) writes(last dependency, op operation) {
	switch op := op.(type) {
	case *copyOp:
		e.overwritten(last, op.dst.Addr+op.dst.Offset(0, 0), op.dst.Span(op.extent)-op.dst.Offset(0, 0))
	case *copyNode:
		e.writes(last, &op.copyOp)
	case *fillOp:
		if op.width*op.height != 0 {
			e.overwritten(last, op.addr, op.span())
		}
	case *fillNode:
		e.writes(last, &op.fillOp)
	case *memOpNode:
		for i := range op.ops {
			switch w := &op.ops[i]; *w.Operation() {
			case cu.CU_STREAM_MEM_OP_WRITE_VALUE_32, cu.CU_STREAM_MEM_OP_WRITE_VALUE_64:
				e.overwritten(last, uint64(w.WaitValue().Address), memOpSize(*w.Operation()))
			}
		}
	case *kernelNode:
		for i := 0; i+8 <= len(op.args); i += 4 {
			if a := e.allocationAt(binary.LittleEndian.Uint64(op.args[i:])); a != nil && a.isHost() {
				e.overwritten(last, a.addr, a.size)
			}
		}
	case *graphRun:
		op.plan.each(func(n nodeParams) { e.writes(last, n) })
	case *hostNode, *streamCallback:
		// Earlier copies have ended when the host function begins, so it affects only later copies.
		e.writers = append(e.writers, writer{last, 0, math.MaxUint64})
	}
}

// overwritten ends the checks of flights whose memory will be overwritten by other work on the device.
func (e *Emulator) overwritten(last dependency, addr, n uint64) {
	if !e.isHostMemory(addr) {
		return
	}
	e.writers = append(e.writers, writer{last, addr, n})
	for _, f := range e.flights {
		if f.overlaps(addr, n) {
			e.checkFlight(f)
			f.mu.Lock()
			f.overwritten = true
			f.mu.Unlock()
		}
	}
}

func (f *flight) overlaps(addr, n uint64) bool {
	return addr < f.addr+f.size && f.addr-min(f.addr, addr) < n
}

// unfinished reports whether other work may still write the flight's memory.
func (e *Emulator) unfinished(f *flight) bool {
	return slices.ContainsFunc(e.writers, func(w writer) bool {
		return !w.met() && (w.s != f.s || w.seq != f.seq) && f.overlaps(w.addr, w.size)
	})
}

func (f *flight) keep() { f.expected, f.valid = append(f.expected[:0], f.live...), true }

// changed returns the index of the first byte that the host has changed. It returns -1 if there is
// none, if the memory is not checked, or if it has already returned an index.
func (f *flight) changed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.overwritten || !f.valid || bytes.Equal(f.live, f.expected) {
		return -1
	}
	at := 0
	for f.live[at] == f.expected[at] {
		at++
	}
	f.overwritten = true
	return at
}

// checkFlight reports a finding if the memory does not have its expected contents. The caller must
// hold the emulator's lock.
func (e *Emulator) checkFlight(f *flight) {
	at := f.changed()
	if at < 0 {
		return
	}
	side := "source"
	if f.target {
		side = "destination"
	}
	e.findLocked(kindHost, f.made.String()+side, fmt.Sprintf(
		"the host wrote byte %d of the %s of an asynchronous copy of %d bytes before it made sure that the copy had ended; the copy was submitted at %s; %s",
		at, side, f.size, f.made, e.mem.Nearest(f.addr)), f.made.String())
}

func (op *copyOp) move(e *Emulator) bool {
	if len(op.flights) == 0 {
		return transfer.Copy(e.mem, &op.dst, &op.src, op.extent)
	}
	e.beginCopy(op.flights)
	defer func() {
		for _, f := range op.flights {
			if f.target && !f.overwritten {
				f.keep() // a failed copy may have written part of the memory
			}
			f.mu.Unlock()
		}
	}()
	return transfer.Copy(e.mem, &op.dst, &op.src, op.extent)
}

// beginCopy checks the memory of a copy just before the copy runs, because only then are the
// results of earlier work visible. It locks the flights, so that no other goroutine checks them
// during the copy.
func (e *Emulator) beginCopy(flights []*flight) {
	e.mu.Lock()
	for _, f := range flights {
		e.checkFlight(f)
	}
	e.unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range flights {
		f.mu.Lock()
		switch {
		case f.overwritten || f.valid:
		case e.unfinished(f):
			f.overwritten = true
		case !f.target:
			f.keep()
		}
	}
}

// endFlights ends the flights of copies that the host knows to have ended.
func (e *Emulator) endFlights(known order.Progress) {
	e.flights = slices.DeleteFunc(e.flights, func(f *flight) bool {
		if !known.Has(f.s.lane, f.seq) {
			return false
		}
		e.checkFlight(f)
		return true
	})
}

func (e *Emulator) dropFlights(addr, size uint64) {
	e.flights = slices.DeleteFunc(e.flights, func(f *flight) bool { return f.overlaps(addr, size) })
}

// checkPointers reports copy nodes that use pageable memory in a graph that is being launched.
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
			p    *transfer.Side
			verb string
		}{{&c.src, "reads"}, {&c.dst, "writes"}} {
			if s.p.Host != nil {
				e.findLocked(kindPageable, fmt.Sprint(s.p.Host, s.verb, c.made), fmt.Sprintf(
					"a copy node %s %d bytes of pageable host memory at each launch of its graph; it was made at %s. "+
						"Use page-locked memory, or registered memory, that lives as long as the graph", s.verb, c.extent.Bytes(), c.made), c.made.String())
			}
		}
	})
}
