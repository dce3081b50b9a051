package vm_test

import "testing"

// lateKernel copies 4 words for each of 32 threads and adds up the words it finds.
func lateKernel(copies, wait string) string {
	return `.visible .entry k(.param .u64 out, .param .u64 in)
{
	.reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .pred %p<8>; .reg .u32 %me; .reg .u64 %out, %in;
	.shared .align 16 .b8 s[1024]; .shared .align 8 .b64 bar;
	ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %me, %tid.x;
	setp.eq.u32 %p1, %me, 0; @%p1 mbarrier.init.shared.b64 [bar], 1; bar.sync 0;
	mul.wide.u32 %rd1, %me, 16; add.u64 %in, %in, %rd1; mov.u32 %r4, s; mad.lo.u32 %r4, %me, 16, %r4;
` + copies + wait + `
	bar.sync 0;
	ld.shared.u32 %r6, [%r4]; ld.shared.u32 %r7, [%r4+512]; add.u32 %r6, %r6, %r7;
	mul.wide.u32 %rd2, %me, 4; add.u64 %out, %out, %rd2; st.global.u32 [%out], %r6;
	ret;
}`
}

const (
	asyncPair = `
	cp.async.cg.shared.global [%r4], [%in], 16; cp.async.commit_group;
	cp.async.cg.shared.global [%r4+512], [%in+512], 16; cp.async.commit_group;
`
	bulkPair = `
	@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 1024;
	@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%in], 512, [bar];
	@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4+512], [%in+512], 512, [bar];
`
	lookOnce   = "mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n"
	lookAlways = "W: " + lookOnce + "@!%p2 bra W;\n"
)

// With a seed, data arrives only when it is waited for.
func TestSeedsMakeCopiesLate(t *testing.T) {
	for _, k := range []lateCase{
		{"cp.async, all groups", asyncPair, "cp.async.wait_group 0;", true},
		{"cp.async, everything", asyncPair, "cp.async.wait_all;", true},
		{"cp.async, one group too few", asyncPair, "cp.async.wait_group 1;", false},
		{"cp.async, not waited for", asyncPair, "", false},
		{"cp.async, told to an object", asyncPair, "cp.async.mbarrier.arrive.shared.b64 [bar];", true},
		{"bulk, until the phase is complete", bulkPair, lookAlways, true},
		{"bulk, looked at once", bulkPair, lookOnce, false},
		{"bulk, not waited for", bulkPair, "", false},
	} {
		t.Run(k.name, func(t *testing.T) {
			if wrong := k.wrongWith(t, 0); wrong != 0 {
				t.Errorf("without a seed %d threads are wrong", wrong)
			}
			found := false
			for seed := range uint64(8) {
				wrong := k.wrongWith(t, seed+1)
				if k.right && wrong != 0 {
					t.Errorf("seed %d: %d threads are wrong", seed+1, wrong)
				}
				found = found || wrong != 0
			}
			if !k.right && !found {
				t.Error("no seed found that the copy was not waited for")
			}
		})
	}
}

type lateCase struct {
	name, copies, wait string
	right              bool // it waits as required
}

// wrongWith counts the threads that found wrong data.
func (k lateCase) wrongWith(t *testing.T, seed uint64) (wrong int) {
	m := load(t, lateKernel(k.copies, k.wait))
	in := make([]uint32, 256)
	for i := range in {
		in[i] = uint32(i + 1)
	}
	out := upload(m, make([]uint32, 32))
	o := grid(1, 32)
	o.Seed = seed
	if err := m.launchWith("k", o, out, upload(m, in)); err != nil {
		t.Fatal(err)
	}
	for i, v := range download[uint32](m, out, 32) {
		if v != in[4*i]+in[128+4*i] {
			wrong++
		}
	}
	return wrong
}
