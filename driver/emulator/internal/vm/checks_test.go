package vm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// findings runs threadOut(body) with checks and returns the findings.
func findings(t *testing.T, checks vm.Checks, n int, body string) []*vm.Fault {
	t.Helper()
	m := load(t, threadOut(body))
	var found []*vm.Fault
	o := grid(1, n)
	o.Checks = checks
	o.Report = func(f *vm.Fault) { found = append(found, f) }
	if err := m.launchWith("k", o, upload(m, make([]uint32, n))); err != nil {
		t.Fatal(err)
	}
	return found
}

const neighbour = `
	.shared .u32 v[64];
	mov.u32 %r1, v;
	mad.lo.u32 %r2, %r0, 4, %r1;
	st.shared.u32 [%r2], %r0;
	BARRIER
	xor.b32 %r3, %r0, PARTNER;
	mad.lo.u32 %r3, %r3, 4, %r1;
	ld.shared.u32 %d, [%r3];`

func exchange(barrier, partner string) string {
	return strings.NewReplacer("BARRIER", barrier, "PARTNER", partner).Replace(neighbour)
}

func TestSharedRacesAreFound(t *testing.T) {
	f := findings(t, vm.CheckSharedRaces, 64, exchange("", "32"))
	if len(f) != 2 || f[0].Kind != vm.FaultRace || !strings.Contains(f[0].Detail, " of thread ") || f[0].Space != "shared" {
		t.Fatalf("without a barrier: %v", f)
	}
	if f := findings(t, vm.CheckSharedRaces, 64, exchange("bar.sync 0;", "32")); len(f) != 0 {
		t.Errorf("with a barrier: %v", f)
	}
	if f := findings(t, vm.CheckSharedRaces, 64, exchange("bar.warp.sync -1;", "32")); len(f) != 2 {
		t.Errorf("across warps with a barrier of the warp: %v", f)
	}
	if f := findings(t, vm.CheckSharedRaces, 64, exchange("bar.warp.sync -1;", "1")); len(f) != 0 {
		t.Errorf("in a warp with its barrier: %v", f)
	}
	if f := findings(t, vm.CheckSharedRaces, 64, exchange("", "1")); len(f) != 1 {
		t.Errorf("in a warp without a barrier: %v", f)
	}
}

func TestWritesOfTheSameValueAreNoRace(t *testing.T) {
	const body = `
	.shared .u32 flag;
	mov.u32 %d, VALUE;
	st.shared.u32 [flag], %d;`
	if f := findings(t, vm.CheckSharedRaces, 32, strings.Replace(body, "VALUE", "1", 1)); len(f) != 0 {
		t.Errorf("same value: %v", f)
	}
	if f := findings(t, vm.CheckSharedRaces, 64, strings.Replace(body, "VALUE", "%r0", 1)); len(f) != 1 {
		t.Errorf("different values: %v", f)
	}
}

func TestAtomicsAreNoRace(t *testing.T) {
	f := findings(t, vm.CheckSharedRaces|vm.CheckUninitialized, 64, `
	.shared .u32 n;
	setp.eq.u32 %p0, %r0, 0;
	@%p0 st.shared.u32 [n], 0;
	bar.sync 0;
	atom.shared.add.u32 %d, [n], 1;`)
	if len(f) != 0 {
		t.Errorf("found %v", f)
	}
}

func TestUninitialisedSharedMemoryIsFound(t *testing.T) {
	f := findings(t, vm.CheckUninitialized, 32, `
	.shared .align 8 .u32 v[64];
	mov.u64 %rd1, v;
	cvta.shared.u64 %rd1, %rd1;
	mul.wide.u32 %rd2, %r0, 8;
	add.u64 %rd1, %rd1, %rd2;
	st.u32 [%rd1], %r0;
	ld.u32 %d, [%rd1];
	ld.v2.u32 {%r1, %r2}, [%rd1];`)
	if len(f) != 1 || f[0].Kind != vm.FaultUninitialized || !strings.HasPrefix(f[0].Instr, "ld.v2.u32") {
		t.Errorf("found %v", f)
	}
}

func TestExitBeforeABarrierIsFound(t *testing.T) {
	f := findings(t, vm.CheckBarriers, 64, `
	mov.u32 %d, 0;
	setp.eq.u32 %p0, %r0, 40;
	@%p0 exit;
	bar.sync 0;`)
	if len(f) == 0 || f[0].Kind != vm.FaultBarrier {
		t.Errorf("found %v", f)
	}
}

func TestAMissingCheckIsRefused(t *testing.T) {
	m := load(t, `.visible .entry k() { ret; }`)
	o := grid(1, 1)
	o.Checks = 1 << 20
	var e *vm.LaunchError
	if err := m.launchWith("k", o); !errors.As(err, &e) || e.Result != 801 || !strings.Contains(e.Error(), "Checks(0x100000)") {
		t.Errorf("launch: %v", err)
	}
}

func TestClusterRegisters(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<8>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %clusterid.x;
	mov.u32 %r3, %cluster_ctarank;
	mov.u32 %r4, %cluster_nctaid.x;
	mov.u32 %r5, %nclusterid.x;
	mad.lo.u32 %r6, %r2, %r4, %r3;
	mad.lo.u32 %r6, %r5, 100, %r6;
	mul.wide.u32 %rd2, %r1, 4;
	add.u64 %rd1, %rd1, %rd2;
	st.global.u32 [%rd1], %r6;
	ret;
}`)
	out := upload(m, make([]uint32, 8))
	o := grid(8, 1)
	o.Cluster = vm.Dim3{X: 4, Y: 1, Z: 1}
	if err := m.launchWith("k", o, out); err != nil {
		t.Fatal(err)
	}
	for i, v := range download[uint32](m, out, 8) {
		if v != uint32(200+i) {
			t.Errorf("block %d: %d, want %d", i, v, 200+i)
		}
	}
}

// A thread that repeats another thread's read, before it writes there, does not hide that read. Two
// threads of its warp do not hide it either.
func TestReadsOfOthersAreRemembered(t *testing.T) {
	for space, base := range map[string]string{
		"shared": ".shared .u32 v[64]; mov.u32 %r1, v; st.shared.u32 [%r1], 1; bar.sync 0;", "global": "sub.u64 %r1, %out, %rd0;",
	} {
		for _, last := range []int{1, 2} { // threads that read again
			body := base + fmt.Sprintf(`
	ld.SPACE.u32 %%d, [%%r1];
	setp.lt.u32 %%p2, %%r0, %d; setp.eq.u32 %%p1, %%r0, 0;
	@%%p2 ld.SPACE.u32 %%r3, [%%r1]; @%%p1 ld.SPACE.u32 %%r3, [%%r1];
	@%%p1 st.SPACE.u32 [%%r1], %%r3;`, last)
			body = strings.ReplaceAll(body, "SPACE", space)
			if space == "global" {
				body = strings.ReplaceAll(body, "%r1", "%rd1")
			}
			for _, threads := range []int{2, 32, 64} {
				f := findings(t, vm.CheckSharedRaces|vm.CheckGlobalRaces, threads, body)
				if len(f) == 0 || !strings.Contains(f[0].Detail, "the read of ") {
					t.Errorf("%s, %d threads, %d read again: %v", space, threads, last, f)
				}
			}
		}
	}
}
