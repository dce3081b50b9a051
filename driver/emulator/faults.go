package emulator

import "github.com/purecuda/cuda/driver"

const errIllegalAddress = driver.CUDA_ERROR_ILLEGAL_ADDRESS

// noteFault logs what ended a kernel and keeps it for LastFault.
func (e *Emulator) noteFault(f Finding) {
	n := e.stats.faults.Add(1)
	e.cfg.Log.Error("kernel fault", "report", f.Report)
	e.findFatal(n, f)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastFault = f.Report
}

// noteMissing is noteFault for memory that a copy or a fill did not find.
func (e *Emulator) noteMissing(what string, addr uint64) {
	e.noteFault(Finding{Kind: kindCopy, Report: what + ": " + e.mem.Nearest(addr), Address: addr})
}

// LastFault is the report of the last kernel that failed: kernel, PTX line,
// block, thread, address and the nearest allocation. It is empty if none did.
func (e *Emulator) LastFault() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lastFault
}

// reportCopyFault says which side of a copy was not there when it ran.
func (e *Emulator) reportCopyFault(op *copyOp) {
	for _, p := range []*place{&op.dst, &op.src} {
		if _, ok := p.row(e.mem, p.offset(0, 0), op.extent.width); !ok {
			e.noteMissing("copy", p.addr+p.offset(0, 0))
		}
	}
}
