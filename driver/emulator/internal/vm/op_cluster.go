package vm

import (
	"slices"

	"github.com/purecuda/cuda/ptx"
)

// The instructions of clusters: barrier.cluster, mapa, getctarank.

func init() {
	register(lowerMapa, "mapa")
	register(lowerCTARank, "getctarank")
}

// lowerClusterBarrier lowers barrier.cluster.arrive and .wait.
func lowerClusterBarrier(l *lowerer, i *ptx.Instr, f *form) {
	ops := slices.DeleteFunc(slices.Clone(f.rest), func(m string) bool { return m == "cluster" })
	wait := slices.Equal(ops, []string{"wait"})
	if !l.args(i, 0, 0) || f.flags&^flagAligned != 0 || len(f.types) != 0 {
		l.unsupported()
		return
	}
	switch {
	case wait && (f.sem == "" || f.sem == "acquire"):
		l.barrierInstr(barClusterWait)
	case slices.Equal(ops, []string{"arrive"}) && (f.sem == "" || f.sem == "release" || f.sem == "relaxed"):
		l.barrierInstr(barClusterArrive)
	default:
		l.unsupported()
	}
}

func (l *lowerer) barrierInstr(aux uint16) {
	n := l.emit(nil, noReg)
	n.in.ctl, n.in.aux = ctlBarrier, aux
}

// lowerMapa lowers mapa. It converts an address in the block's own shared memory to the address of
// the same place in another block of the cluster.
func lowerMapa(l *lowerer, i *ptx.Instr, f *form) {
	window, ok := l.clusterForm(f)
	if !ok || !l.args(i, 3, 3) {
		return
	}
	a := l.clusterAddress(i.Args[1])
	rank := l.src(i.Args[2], ptx.U32)
	l.looseWidth = true
	d := l.dst(i.Args[0], f.typ())
	exec := func(w *warp, in *inst, m uint32) { w.mapa(in, m, window) }
	if d.class == class64 {
		l.emit(exec, d, a, rank)
		return
	}
	t := l.newReg(class64)
	l.emit(exec, t, a, rank)
	l.emit(execLow32, d, t)
}

//go:norace
func (w *warp) mapa(in *inst, m uint32, window uint64) {
	d, a, b := &w.r64[in.d], &w.r64[in.a], &w.r32[in.b]
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = window | (uint64(b[i])+1)<<clusterShift | a[i]&(clusterBytes-1)
	}
}

// lowerCTARank lowers getctarank, which returns the rank of the block whose shared memory contains
// an address.
func lowerCTARank(l *lowerer, i *ptx.Instr, f *form) {
	_, ok := l.clusterForm(f)
	if !ok || !l.args(i, 2, 2) {
		return
	}
	a := l.clusterAddress(i.Args[1])
	l.emit(execCTARank, l.dst(i.Args[0], ptx.U32), a)
}

//go:norace
func execCTARank(w *warp, in *inst, m uint32) {
	d, a := &w.r32[in.d], &w.r64[in.a]
	own := w.cta.rank()
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = own
		if tag := a[i] & 0xffff_ffff >> clusterShift; tag != 0 {
			d[i] = uint32(tag) - 1
		}
	}
}

// clusterForm returns the window of the addresses of mapa and getctarank. With .shared::cluster
// they are in shared memory, otherwise generic.
func (l *lowerer) clusterForm(f *form) (window uint64, ok bool) {
	if len(f.types) != 1 || f.flags != 0 || f.typ() != ptx.U32 && f.typ() != ptx.U64 {
		l.unsupported()
		return 0, false
	}
	if f.spaces == 0 {
		return sharedWindow, true
	}
	if f.space != ptx.SharedSpace || !slices.Equal(f.rest, []string{"shared::cluster"}) {
		l.unsupported()
		return 0, false
	}
	return 0, true
}

// clusterAddress returns the column of an address operand: a register, or a variable in shared
// memory.
func (l *lowerer) clusterAddress(o ptx.Operand) reg {
	l.looseWidth = true
	return l.src(o, ptx.U64)
}

// execIsShared is isspacep.shared::cta: whether generic addresses are in the block's own shared
// memory, in whichever form.
//
//go:norace
func execIsShared(w *warp, in *inst, m uint32) {
	a, own := &w.r64[in.a], uint64(w.cta.rank())+1
	var r uint32
	for k := m; k != 0; k &= k - 1 {
		i := first(k)
		tag := a[i] & 0xffff_ffff >> clusterShift
		if a[i]&windowMask == sharedWindow && (tag == 0 || tag == own) {
			r |= 1 << i
		}
	}
	w.setPred(in, r, m)
}
