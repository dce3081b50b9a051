package kernelfault_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

// A wait must return the fault of the single thread that is out of range, once for each stream. The
// context must work before and after the fault.
func TestFaultOfOneThread(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := kernel(t, load(t, c, "index"), "index")
		s, other, out := stream(t, c), stream(t, c), buffer(t, c, 128)
		launchIndex(t, k, s, 4, out, 128, 0)
		ok(t, wait(t, s))

		launchIndex(t, k, s, 4, out, 1127, 1000)
		err := wait(t, s)
		f := faultOf(t, err)
		want := driver.KernelFault{Kind: "index", Kernel: "index", File: "heat/step.go", Line: 17, Column: 9,
			Values: [3]int64{1127, 1127}, Block: [3]uint32{3}, Thread: [3]uint32{31}}
		if *f != want {
			t.Errorf("the fault is %+v, not %+v", *f, want)
		}
		const text = "heat/step.go:17:9: index out of range [1127] with length 1127 in kernel index, block (3,0,0), thread (31,0,0)"
		if !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
			t.Errorf("the text is %q", err)
		}
		ok(t, wait(t, s)) // s has already returned the fault
		if f := faultOf(t, wait(t, other)); *f != want {
			t.Errorf("the other stream returns %+v, not %+v", *f, want)
		}
		ok(t, wait(t, other))
		ok(t, wait(t, stream(t, c))) // this stream was created after the fault

		launchIndex(t, k, s, 4, out, 128, 0)
		ok(t, wait(t, s))
		for i, v := range values(t, out) {
			if v != uint32(i) {
				t.Fatalf("out[%d] = %d", i, v)
			}
		}
	})
}
