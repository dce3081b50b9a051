package vm_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

func TestBarriersNotReachedByAllAreFound(t *testing.T) {
	for _, c := range []struct {
		name, body, detail string
	}{
		{"all come", `bar.sync 0; bar.sync 0;`, ""},
		{"all come by two ways of whole warps", `setp.lt.u32 %p1, %t, 32; @%p1 bra A; bar.sync 0; ret;` + "\nA:\n" + `bar.sync 0;`, ""},
		{"threads that exit first", `setp.lt.u32 %p1, %t, 8; @%p1 ret; bar.sync 0;`, "8 of the block's 64 threads have exited, thread (0,0,0) among them"},
		{"threads that exit last", `setp.eq.u32 %p1, %t, 63; @%p1 ret; bar.sync 0;`, "1 of the block's 64 threads have exited, thread (63,0,0) among them"},
		{"a warp that comes by two ways", `and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 1; @%p1 bra A; bar.sync 0; ret;` + "\nA:\n" + `bar.sync 0;`, "a warp has to reach a barrier as a whole"},
		{"a producer and consumers", `setp.lt.u32 %p1, %t, 32; @%p1 bra A; bar.sync 1, 64; ret;` + "\nA:\n" + `bar.arrive 1, 64;`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newChecker(t, vm.CheckBarriers, c.body).run(2, 64, nil)
			switch {
			case c.detail == "" && len(f) != 0:
				t.Errorf("found %v", f)
			case c.detail != "" && (len(f) == 0 || f[0].Kind != vm.FaultBarrier || !strings.Contains(f[0].Detail, c.detail) || !strings.Contains(f[0].Instr, "bar.sync")):
				t.Errorf("found %v, want %q", f, c.detail)
			}
		})
	}
}
