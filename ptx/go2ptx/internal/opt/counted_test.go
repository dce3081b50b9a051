package opt

import "testing"

func TestWhichInstructionsCountThreads(t *testing.T) {
	const count = "barrier with a thread count"
	for text, want := range map[string]string{
		"bar.sync 0;":                                                   "",
		"bar.sync %0;":                                                  "",
		"bar.sync %0, %1;":                                              count,
		"bar.arrive 1, 64;":                                             count,
		"bar.red.popc.u32 $0, 0, %0;":                                   "",
		"bar.red.popc.u32 $0, 0, 64, %0;":                               count,
		"bar.red.and.pred $0, 0, !%0;":                                  "",
		"barrier.sync.aligned 1;":                                       "",
		"barrier.cta.sync 1, 32;":                                       count,
		"barrier.cta.arrive.aligned 1, 32;":                             count,
		"bar.warp.sync %0;":                                             "",
		"mbarrier.init.shared.b64 [%0], 3;":                             "",
		"mbarrier.arrive.shared.b64 $0, [%0];":                          "",
		"mbarrier.test_wait.shared.b64 $0, [%0];":                       "mbarrier",
		"mbarrier.try_wait.parity.shared::cta.b64 $0, [%0], 1;":         "mbarrier",
		"barrier.cluster.arrive; barrier.cluster.wait;":                 "barrier of a cluster",
		"{ .reg .pred %p; setp.eq.s32 %p, 0, 0; @!%p bar.sync 1, 64; }": count,
		"{ mov.b32 %h, %envreg1; again: bar.sync 0; mov.b32 %l, %envreg2; @%p bra again; }": "barrier of the grid",
		"mov.u32 $0, %clock; // , ": "",
		"again: bar.arrive 2, 96;":  count,
		"":                          "",
	} {
		if what := countedText(text); what != want {
			t.Errorf("%q waits for %q, not %q", text, what, want)
		}
	}
}
