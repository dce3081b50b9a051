package vm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// copies returns a kernel body in which each thread copies 16 bytes from global to shared memory, a
// second copy follows in a second group if two is set, and then the given code runs. In the code,
// [%r2] is what the thread copied first, and [%r3] what the thread with index t^partner copied.
func copies(two bool, partner int, code string) string {
	second := ""
	if two {
		second = "cp.async.commit_group; cp.async.ca.shared.global [%r2+1024], [%rd2], 16;"
	}
	return fmt.Sprintf(`
	.shared .align 16 .b8 v[2048];
	mov.u32 %%r1, v;
	mad.lo.u32 %%r2, %%t, 16, %%r1;
	xor.b32 %%r3, %%t, %d;
	mad.lo.u32 %%r3, %%r3, 16, %%r1;
	mul.wide.u32 %%rd2, %%t, 16;
	add.u64 %%rd2, %%rd2, %%p0;
	cp.async.ca.shared.global [%%r2], [%%rd2], 16;
	%s
	%s`, partner, second, code)
}

// The bytes of cp.async are written at any time from the copy to the end of the wait, and other
// threads may read them after a barrier that follows the wait. The findings must be the same if the
// emulator performs the copies late.
func TestRacesWithAsyncCopiesAreFound(t *testing.T) {
	const read, readOwn = "ld.shared.u32 %r4, [%r3];", "ld.shared.u32 %r4, [%r2];"
	for _, c := range []struct {
		name string
		body string
		want int
	}{
		{"own bytes before the wait", copies(false, 0, readOwn+"cp.async.wait_all;"), 1},
		{"own bytes before the wait, after a barrier", copies(false, 0, "bar.sync 0;"+readOwn), 1},
		{"own bytes overwritten before the wait", copies(false, 0, "st.shared.u32 [%r2], %t;"), 1},
		{"own bytes after the wait", copies(false, 0, "cp.async.wait_all;"+readOwn), 0},
		{"own bytes after waiting for a group", copies(false, 0, "cp.async.commit_group; cp.async.wait_group 0;"+readOwn), 0},
		{"own bytes that are in no group", copies(false, 0, "cp.async.wait_group 0;"+readOwn), 1},
		{"the first of two groups", copies(true, 0, "cp.async.commit_group; cp.async.wait_group 1;"+readOwn), 0},
		{"the second of two groups", copies(true, 0, "cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r4, [%r2+1024];"), 1},
		{"bytes copied again in a second group", copies(false, 0, "cp.async.commit_group; cp.async.ca.shared.global [%r2], [%rd2], 16;\n"+
			"cp.async.commit_group; cp.async.wait_group 1;"+readOwn), 1},
		{"bytes of the warp, without a barrier", copies(false, 1, "cp.async.wait_all;"+read), 1},
		{"bytes of the warp, with a barrier", copies(false, 1, "cp.async.wait_all; bar.warp.sync -1;"+read), 0},
		{"bytes of the warp, with a barrier before the wait", copies(false, 1, "bar.warp.sync -1; cp.async.wait_all;"+read), 1},
		{"bytes of another warp, with a barrier of the warp", copies(false, 32, "cp.async.wait_all; bar.warp.sync -1;"+read), 2},
		{"bytes of another warp, with a barrier", copies(false, 32, "cp.async.wait_all; bar.sync 0;"+read), 0},
		{"bytes of another warp, with a barrier before the wait", copies(false, 32, "bar.sync 0; cp.async.wait_all;"+read), 1},
		{"bytes read by another thread before", "\n.shared .align 16 .b8 w[1024]; mov.u32 %r1, w; xor.b32 %r3, %t, 1; mad.lo.u32 %r3, %r3, 16, %r1; ld.shared.u32 %r4, [%r3];\n" +
			"mad.lo.u32 %r2, %t, 16, %r1; cp.async.ca.shared.global [%r2], [%p0], 16;", 1},
	} {
		for seed := range uint64(3) {
			k := newChecker(t, vm.CheckSharedRaces, c.body)
			f := k.run(1, 64, func(o *vm.LaunchOptions) { o.Seed = seed })
			if len(f) != c.want {
				t.Errorf("%s, seed %d: %v, want %d findings", c.name, seed, f, c.want)
			}
		}
	}
	f := newChecker(t, vm.CheckSharedRaces, copies(false, 0, readOwn)).run(1, 1, nil)
	if len(f) != 1 || !strings.Contains(f[0].Detail, "cp.async of thread (0,0,0) at line ") || !strings.Contains(f[0].Detail, "wait for the copy") {
		t.Errorf("the report is %v", f)
	}
}
