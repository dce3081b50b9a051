package vm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// clusterKernel returns a kernel k(out). In body, %rank holds the block's rank and %me the thread's
// index, and bar is an initialised barrier object that expects one arrival.
func clusterKernel(body string) string {
	return `.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .b16 %h<4>; .reg .pred %p<8>; .reg .u32 %me, %rank; .reg .u64 %out;
	.shared .align 16 .b8 s[256]; .shared .align 8 .b64 bar;
	ld.param.u64 %out, [out]; mov.u32 %me, %tid.x; mov.u32 %rank, %cluster_ctarank;
	setp.eq.u32 %p1, %me, 0; @%p1 mbarrier.init.shared.b64 [bar], 1; bar.sync 0;
	mov.u32 %r4, s;
` + body + "\n	ret;\n}"
}

const (
	arriveWait = "\n	barrier.cluster.arrive; barrier.cluster.wait;\n"
	mapOther   = "mapa.shared::cluster.u32 %r5, %r4, 1;"
)

var misuse = []struct {
	name, body string
	cluster    uint32
	kind       vm.FaultKind
	says       string
}{
	{"no barrier object", "mbarrier.arrive.shared.b64 %rd1, [s];", 0, vm.FaultBarrier, "no mbarrier object was initialised here"},
	{"an object after inval", "mbarrier.inval.shared.b64 [bar]; mbarrier.arrive.shared.b64 %rd1, [bar];", 0, vm.FaultBarrier, "no mbarrier object"},
	{"too many arrivals", "mbarrier.arrive.shared.b64 %rd1, [bar], 2;", 0, vm.FaultBarrier, "2 arrivals, the phase waits for 1 more"},
	{"a count of none", "mov.u32 %r6, 0; mbarrier.init.shared.b64 [s], %r6;", 0, vm.FaultBarrier, "1048575"},
	{"noComplete completes", "mbarrier.arrive.noComplete.shared.b64 %rd1, [bar], 1;", 0, vm.FaultBarrier, ".noComplete completes the phase"},
	{"too many bytes", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1048576;", 0, vm.FaultBarrier, "1048576 bytes to come"},
	{"an object at half its alignment", "mov.u32 %r6, bar; mbarrier.arrive.shared.b64 %rd1, [%r6+4];", 0, vm.FaultMisaligned, "multiple of 8"},
	{"an object in global memory", "mbarrier.arrive.b64 %rd1, [%out];", 0, vm.FaultIllegalInstruction, "lies in shared memory"},
	{"a rank too high", arriveWait + "mapa.shared::cluster.u32 %r5, %r4, 7; ld.shared::cluster.u32 %r6, [%r5];", 2, vm.FaultClusterGone, "has no block of rank 7, it has 2 blocks"},
	{"another block's address without ::cluster", arriveWait + mapOther + "ld.shared.u32 %r6, [%r5];", 2, vm.FaultIllegalInstruction, "without .shared::cluster"},
	{"beyond another block's memory", arriveWait + mapOther + "ld.shared::cluster.u32 %r6, [%r5+512];" + arriveWait, 2, vm.FaultIllegal, "has 272 bytes of shared memory"},
	{"a block that has ended", arriveWait + "setp.eq.u32 %p2, %rank, 1; @%p2 exit;" + mapOther + `
	mov.u32 %r7, 0;
L:	ld.shared::cluster.u32 %r6, [%r5]; nanosleep.u32 10; add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, 100000; @%p3 bra L;`, 2, vm.FaultClusterGone, "block (1,0,0) of the cluster, of rank 1, has ended"},
	{"to wait without arriving", "barrier.cluster.wait;", 2, vm.FaultBarrier, "without having arrived"},
	{"to arrive twice", "barrier.cluster.arrive; barrier.cluster.arrive;", 2, vm.FaultBarrier, "again without having waited"},
	{"to arrive where others wait in vain", "setp.eq.u32 %p2, %rank, 1; @%p2 bra M; barrier.cluster.arrive; barrier.cluster.wait; bra OUT;\nM:	setp.lt.u32 %p3, %me, 16; @%p3 bra OUT; bar.sync 0, 64;\nOUT:", 2, vm.FaultDeadlock, "waits"},
	{"a bulk copy of 24 bytes", "mov.u32 %r6, 24; cp.async.bulk.global.shared::cta.bulk_group [%out], [s], %r6;", 0, vm.FaultIllegalInstruction, "size 24 of a bulk copy is not a multiple of 16"},
	{"a bulk copy to a bad alignment", "cp.async.bulk.global.shared::cta.bulk_group [%out+8], [s], 16;", 0, vm.FaultMisaligned, "multiple of 16"},
	{"a bulk copy beyond the end", "cp.async.bulk.global.shared::cta.bulk_group [%out+240], [s], 32;", 0, vm.FaultIllegal, "32 bytes, 16 are left"},
	{"a bulk copy to nowhere", "cp.async.bulk.global.shared::cta.bulk_group [%out+1048576], [s], 32;", 0, vm.FaultIllegal, "nearest allocation"},
	{"a bulk copy without its object", "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%out], 32, [s+64];", 0, vm.FaultBarrier, "no mbarrier object"},
	{"a store to a block without its object", arriveWait + mapOther + "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r5], 1, [%r5+8];" + arriveWait, 2, vm.FaultBarrier, "no mbarrier object"},
}

func TestMisuseOfClustersAndBarrierObjectsIsAFault(t *testing.T) {
	for _, k := range misuse {
		t.Run(k.name, func(t *testing.T) {
			m := load(t, clusterKernel(k.body))
			o := grid(2, 32)
			o.Cluster = vm.Dim3{X: k.cluster, Y: 1, Z: 1}
			o.Workers = 1
			err := m.launchWith("k", o, upload(m, make([]uint32, 64)))
			var f *vm.Fault
			if !errors.As(err, &f) {
				t.Fatalf("got %v, want a fault", err)
			}
			if f.Kind != k.kind || !strings.Contains(f.Error(), k.says) {
				t.Errorf("got %v, want %v: %s", f, k.kind, k.says)
			}
			if last := strings.Count(clusterKernel(""), "\n"); f.Line < 1 || f.Line < last-2 {
				t.Errorf("line %d: %s", f.Line, f.Instr)
			}
		})
	}
}

// The blocks form a ring. In each iteration, each block adds its neighbour's value to its own. The
// result must not depend on the order of blocks and warps or on the number of goroutines.
func TestClustersRunInAnyOrder(t *testing.T) {
	m := load(t, clusterKernel(`
	mul.lo.u32 %r6, %me, 4; and.b32 %r6, %r6, 252; add.u32 %r4, %r4, %r6;
	mov.u32 %r7, %ctaid.x; add.u32 %r8, %r7, 1;
	setp.lt.u32 %p2, %me, 64; @%p2 st.shared.u32 [%r4], %r8;
	mov.u32 %r9, 0; mov.u32 %r10, %cluster_nctarank;
	add.u32 %r11, %rank, 1; rem.u32 %r11, %r11, %r10; mapa.shared::cluster.u32 %r5, %r4, %r11;
L:	barrier.cluster.arrive; barrier.cluster.wait;
	ld.shared::cluster.u32 %r12, [%r5];
	barrier.cluster.arrive; barrier.cluster.wait;
	@%p2 atom.shared.add.u32 %r13, [%r4], %r12;
	add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 5; @%p3 bra L;
	barrier.cluster.arrive; barrier.cluster.wait;
	ld.shared.u32 %r12, [%r4];
	mad.lo.u32 %r7, %r7, 80, %me; mul.wide.u32 %rd1, %r7, 4; add.u64 %rd1, %out, %rd1; st.global.u32 [%rd1], %r12;`))
	const n, threads, size = 32, 80, 4
	for _, workers := range []int{1, 3} {
		for seed := range uint64(6) {
			o := grid(n, threads)
			o.Cluster, o.Workers, o.Seed = vm.Dim3{X: size, Y: 1, Z: 1}, workers, seed
			out := upload(m, make([]uint32, n*threads))
			if err := m.launchWith("k", o, out); err != nil {
				t.Fatal(err)
			}
			want := ring(n, size, 5)
			for i, v := range download[uint32](m, out, n*threads) {
				if v != want[i/threads] {
					t.Fatalf("%d workers, seed %d: block %d: %d, want %d", workers, seed, i/threads, v, want[i/threads])
				}
			}
		}
	}
}

func ring(n, size, rounds int) []uint32 {
	v := make([]uint32, n)
	for i := range v {
		v[i] = uint32(i + 1)
	}
	for range rounds {
		old := append([]uint32(nil), v...)
		for i := range v {
			v[i] += old[i/size*size+(i%size+1)%size]
		}
	}
	return v
}

func TestGridsAreMultiplesOfTheCluster(t *testing.T) {
	m := load(t, clusterKernel(""))
	o := grid(3, 32)
	o.Cluster = vm.Dim3{X: 2, Y: 1, Z: 1}
	var refused *vm.LaunchError
	if err := m.launchWith("k", o, uint64(0)); !errors.As(err, &refused) || !strings.Contains(err.Error(), "not a multiple") {
		t.Errorf("got %v", err)
	}
}

func TestFormsThatAreNotThereAreRefused(t *testing.T) {
	for _, text := range []string{
		"mbarrier.arrive.expect_tx.shared.b64 %rd1, [bar];",
		"mbarrier.frob.shared.b64 [bar];",
		"mbarrier.arrive.acquire.shared.b64 %rd1, [bar];",
		"mbarrier.init.global.b64 [bar], 1;",
		"cp.async.bulk.shared::cluster.global.bulk_group [s], [%out], 16, [bar];",
		"cp.async.bulk.global.global.bulk_group [%out], [%out], 16;",
		"cp.async.bulk.global.shared::cta.bulk_group.multicast::cluster [%out], [s], 16;",
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.frob.u32 [%out], [s], 16;",
		"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.f32 [%r4], [s], 16, [bar];",
		"cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%out, {%r1}], [bar];",
		"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.f32 [%r4], %r5, [bar];",
		"st.async.shared::cluster.u32 [%r4], %r5, [bar];",
		"barrier.cluster.sync;",
		"mapa.global.u64 %rd1, %rd2, 0;",
		"multimem.ld_reduce.global.add.u32 %r1, [%out];",
	} {
		if _, err := tryLoad(t, clusterKernel(text)); err == nil {
			t.Errorf("%s: accepted", text)
		}
	}
}

// The checks must treat bytes that a bulk copy wrote as written. They must treat the copy as
// ordered before reads that follow the wait.
func TestChecksKnowBulkCopies(t *testing.T) {
	m := load(t, clusterKernel(`
	@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
	@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%out], 128, [bar];
W:	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
	@!%p2 bra W;
	mul.lo.u32 %r6, %me, 4; add.u32 %r6, %r6, %r4; ld.shared.u32 %r7, [%r6];`))
	o := grid(1, 64)
	o.Checks = vm.CheckSharedRaces | vm.CheckUninitialized
	var found []string
	o.Report = func(f *vm.Fault) { found = append(found, fmt.Sprint(f.Kind, f.Thread)) }
	if err := m.launchWith("k", o, upload(m, make([]uint32, 64))); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0] != "uninitialized read (32,0,0)" {
		t.Errorf("found %v, want the read of thread 32", found)
	}
}

// The checks must treat data that one block wrote into another block's shared memory as written. A
// block's accesses before its arrival at another block's barrier object must be ordered before the
// other block's accesses after its wait.
func TestChecksKnowClusters(t *testing.T) {
	const others = arriveWait + `
	xor.b32 %r6, %rank, 1; mapa.shared::cluster.u32 %r5, %r4, %r6; mov.u32 %r7, bar; mapa.shared::cluster.u32 %r8, %r7, %r6;
	mul.lo.u32 %r9, %rank, 4; cvt.u64.u32 %rd1, %r9; add.u64 %rd2, %out, %rd1;
	mul.lo.u32 %r9, %r6, 4; cvt.u64.u32 %rd1, %r9; add.u64 %rd3, %out, %rd1;
`
	const arrive = "@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8];\n"
	const wait = "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W;\n"
	for _, k := range []struct {
		name, body, want string
	}{
		{"shared memory", "@%p1 st.shared::cluster.u32 [%r5], 7;" + arriveWait + "ld.shared.u32 %r9, [s];", ""},
		{"shared memory that nobody wrote", "@%p1 st.shared::cluster.u32 [%r5], 7;" + arriveWait + "ld.shared.u32 %r9, [s+4];", "uninitialized read"},
		{"a store that an object is told of", "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4;" + arriveWait +
			"@%p1 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r5], 7, [%r8];" + wait + "ld.shared.u32 %r9, [s];" + arriveWait, ""},
		{"global memory, and an object", "@%p1 st.global.u32 [%rd2], 7;" + arrive + wait + "ld.global.u32 %r9, [%rd3];" + arriveWait, ""},
		{"global memory, and the barrier", "@%p1 st.global.u32 [%rd2], 7;" + arriveWait + "ld.global.u32 %r9, [%rd3];", ""},
		{"global memory, and nothing", "@%p1 st.global.u32 [%rd2], 7; ld.global.u32 %r9, [%rd3];" + arriveWait, "data race"},
	} {
		t.Run(k.name, func(t *testing.T) {
			m := load(t, clusterKernel(others+k.body))
			o := grid(2, 32)
			o.Cluster = vm.Dim3{X: 2, Y: 1, Z: 1}
			o.Checks = vm.CheckSharedRaces | vm.CheckUninitialized | vm.CheckGlobalRaces
			found := ""
			o.Report = func(f *vm.Fault) { found += f.Error() + "\n" }
			if err := m.launchWith("k", o, upload(m, make([]uint32, 64))); err != nil {
				t.Fatal(err)
			}
			if (found == "") != (k.want == "") || !strings.Contains(found, k.want) {
				t.Errorf("found %q, want %q", found, k.want)
			}
		})
	}
}

func TestChecksKnowBulkCopiesToGlobalMemory(t *testing.T) {
	m := newChecker(t, vm.CheckUninitialized|vm.CheckGlobalRaces, `
	.shared .align 16 .b8 s[256];
	mov.u32 %r4, s; mul.lo.u32 %r5, %t, 4; add.u32 %r4, %r4, %r5; st.shared.u32 [%r4], %t;
	bar.sync 0; setp.eq.u32 %p1, %t, 0;
	@%p1 cp.async.bulk.global.shared::cta.bulk_group [%p0], [s], 128;
	@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;
	bar.sync 0; ld.global.u32 %r6, [%rd1];`)
	for i, n := range map[int]int{32: 0, 64: 1} { // thread count to expected number of findings
		if found := m.run(1, i, nil); len(found) != n {
			t.Errorf("%d threads: found %v, want %d", i, found, n)
		}
	}
}

// In each group of 16 bytes, a bulk copy with a byte mask must write only the bytes whose mask bit
// is set.
func TestBulkCopiesWithAByteMask(t *testing.T) {
	const mask = 0b1010_0101_1100_0011
	m := load(t, ".version 8.6\n.target sm_100\n.address_size 64\n"+clusterKernel(fmt.Sprintf(`
	mul.lo.u32 %%r6, %%me, 4; add.u32 %%r6, %%r6, %%r4; add.u32 %%r7, %%me, 0x01020304; st.shared.u32 [%%r6], %%r7;
	fence.proxy.async; bar.sync 0;
	mov.u16 %%h1, %d;
	@%%p1 cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%%out], [s], 64, %%h1;
	@%%p1 cp.async.bulk.commit_group;
	@%%p1 cp.async.bulk.wait_group 0;`, mask)))
	before := make([]uint32, 32)
	for i := range before {
		before[i] = 0xffffffff
	}
	out := upload(m, before)
	o := grid(1, 32)
	o.Device = vm.DeviceInfo{ComputeCapability: 100, SMs: 4}
	if err := m.launchWith("k", o, out); err != nil {
		t.Fatal(err)
	}
	for i, b := range download[uint8](m, out, 128) {
		want := uint8(0xff)
		if i < 64 && mask>>(i%16)&1 != 0 {
			want = uint8((0x01020304 + i/4) >> (8 * (i % 4)))
		}
		if b != want {
			t.Errorf("byte %d is %#x, want %#x", i, b, want)
		}
	}
}

// An access to another block's shared memory must fault after that block has ended, even if an
// earlier access succeeded.
func TestAccessesToOtherBlocksEndWithThem(t *testing.T) {
	const body = arriveWait + `
	setp.eq.u32 %%p2, %%rank, 1; @%%p2 bra OTHER;
	mapa.shared::cluster.u32 %%r5, %%r4, 1; mov.u32 %%r7, 0;
L:	%s
	setp.ne.u32 %%p3, %%r7, 0; @%%p3 bra M;
	barrier.cluster.arrive; barrier.cluster.wait;
M:	nanosleep.u32 10; add.u32 %%r7, %%r7, 1; setp.lt.u32 %%p3, %%r7, 2000; @%%p3 bra L;
	bra END;
OTHER: barrier.cluster.arrive; barrier.cluster.wait;
END:`
	for name, access := range map[string]string{
		"load":      "ld.shared::cluster.u32 %r6, [%r5];",
		"store":     "st.shared::cluster.u32 [%r5], %r7;",
		"atomic":    "atom.shared::cluster.add.u32 %r6, [%r5], 1;",
		"vector":    "ld.shared::cluster.v2.u32 {%r6, %r9}, [%r5];",
		"generic":   "cvt.u64.u32 %rd3, %r5; cvta.shared::cluster.u64 %rd4, %rd3; ld.u32 %r6, [%rd4];",
		"reduction": "red.shared::cluster.add.u32 [%r5], 1;",
	} {
		m := load(t, clusterKernel(fmt.Sprintf(body, access)))
		o := grid(2, 32)
		o.Cluster = vm.Dim3{X: 2, Y: 1, Z: 1}
		o.Workers = 1
		err := m.launchWith("k", o, upload(m, make([]uint32, 64)))
		var f *vm.Fault
		if !errors.As(err, &f) || f.Kind != vm.FaultClusterGone {
			t.Errorf("%s of a block that has ended: got %v", name, err)
		}
	}
}
