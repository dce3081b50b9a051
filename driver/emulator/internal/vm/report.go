package vm

import (
	"strings"
	"unsafe"
)

// Reports of faults: the place in the code, and the thread.

// lineOf returns where the instruction at pc comes from.
func (w *warp) lineOf(pc int32) lineInfo {
	if pc < 0 || int(pc) >= len(w.prog.lines) {
		return lineInfo{}
	}
	return w.prog.lines[pc]
}

// thread returns the index of a lane's thread in the block.
func (w *warp) thread(i int) Dim3 {
	return Dim3{w.tid[0][i], w.tid[1][i], w.tid[2][i]}
}

// fault describes the instruction at w.pc, for the lowest active lane.
func (w *warp) fault(kind FaultKind, in *inst) *Fault {
	lane := 0
	if w.mask != 0 {
		lane = first(w.mask)
	}
	return w.laneFault(kind, in, lane, "")
}

// laneFault describes an instruction for one lane. in is the instruction, nil
// for the one at w.pc.
func (w *warp) laneFault(kind FaultKind, in *inst, lane int, detail string) *Fault {
	pc := w.pc
	if in != nil {
		pc = w.prog.pcOf(in, pc)
	}
	at := w.lineOf(pc)
	f := &Fault{Kind: kind, Kernel: w.cta.run.kernel.name, Line: int(at.line), Block: w.cta.id, Thread: w.thread(lane), Detail: detail}
	if int(at.file) < len(w.prog.files) {
		f.File = w.prog.files[at.file]
		f.Instr = sourceLine(w.prog.sources[at.file], int(at.line))
	}
	if at.loc > 0 {
		f.Source = w.prog.locs[at.loc-1]
	}
	return f
}

// accessFault describes an access by lane i to address p.
func (w *warp) accessFault(kind FaultKind, in *inst, p uint64, i int, detail string) *Fault {
	f := w.laneFault(kind, in, i, detail)
	f.Addr, f.Size = p, int(in.size())
	f.Space = spaceText[in.aux&spaceMask]
	f.Write = in.aux&accWrite != 0
	return f
}

// pcOf returns the index of an instruction in the program. If in is the copy that records where an
// instruction reads, pcOf returns that instruction's index. If in is not part of the program, pcOf
// returns otherwise.
func (p *program) pcOf(in *inst, otherwise int32) int32 {
	if in == nil || len(p.code) == 0 {
		return otherwise
	}
	off := uintptr(unsafe.Pointer(in)) - uintptr(unsafe.Pointer(&p.code[0]))
	if i := off / unsafe.Sizeof(*in); i < uintptr(len(p.code)) {
		return int32(i)
	}
	for i := range p.code {
		if x := p.code[i].x; x != nil && x.from == in {
			return int32(i)
		}
	}
	return otherwise
}

// sourceLine returns line n of a text, trimmed.
func sourceLine(text string, n int) string {
	for ; n > 1; n-- {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			return ""
		}
		text = text[i+1:]
	}
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSpace(text)
}
