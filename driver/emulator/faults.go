package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
)

const errIllegalAddress = cu.CUDA_ERROR_ILLEGAL_ADDRESS

// noteFault logs the error that ended a kernel or a copy and stores it for LastFault and Explain.
// It returns the code.
func (x *execution) noteFault(f Finding, code result) result {
	e := x.e
	f.At = x.made.String()
	n := e.stats.faults.Add(1)
	e.cfg.Log.Error("kernel fault", "report", f.Report)
	e.findFatal(n, f)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastFault = f.Report
	if e.faultOf == nil {
		e.faultOf = make(map[result]string)
	}
	e.faultOf[code] = f.Report
	return code
}

// noteMissing is noteFault for memory that did not exist when a copy or a fill ran.
func (x *execution) noteMissing(what string, addr uint64) result {
	return x.noteFault(Finding{Kind: kindCopy, Report: what + ": " + x.e.mem.Nearest(addr), Address: addr}, errIllegalAddress)
}

// LastFault returns the report of the last kernel that failed: kernel, PTX line, block, thread,
// address and the nearest allocation. It is empty if no kernel failed.
func (e *Emulator) LastFault() string {
	if e == nil {
		return ""
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lastFault
}

// Explain returns the report of the last kernel or copy that failed with the given code. It is
// empty if none did. Package driver includes it in its errors.
func (e *Emulator) Explain(code cu.CUresult) string {
	if e == nil {
		return ""
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.faultOf[code]
}

// reportCopyFault reports which side of a copy did not exist when the copy ran.
func (x *execution) reportCopyFault(op *copyOp) result {
	for _, p := range []*transfer.Side{&op.dst, &op.src} {
		if _, ok := p.Row(x.e.mem, p.Offset(0, 0), op.extent.Width); !ok {
			x.noteMissing("copy", p.Addr+p.Offset(0, 0))
		}
	}
	return errIllegalAddress
}
