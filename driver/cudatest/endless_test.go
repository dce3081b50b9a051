package cudatest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/driver/emulator"
)

const endlessPTX = `.version 8.0
.target sm_70
.address_size 64
.visible .entry endless(.param .u64 p)
{
LOOP:
	bra LOOP;
}
`

// An endless kernel must not hang a test that cancels its wait and then closes the kernel's
// objects. The emulator ends the kernel, and the test fails with the kernel's name and line.
func TestEndlessKernelsEndAndFailTheTest(t *testing.T) {
	r := &recorded{TB: t}
	cfg := emulator.Config{Limits: emulator.Limits{KernelTime: 50 * time.Millisecond}}
	c := cudatest.Device(r, cudatest.OnEmulator(), cudatest.WithConfig(cfg), cudatest.WithChecks(0))
	m := must(c.LoadModule([]byte(endlessPTX)))(t)
	k := must(m.Kernel("endless"))(t)
	s := must(c.NewStream())(t)
	b := must(driver.Alloc[uint32](c, 1))(t)
	ok(t, k.Launch(s, driver.LaunchConfig{Grid: driver.D1(2), Block: driver.D1(64)}, b))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Wait(ctx); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, driver.CUDA_ERROR_LAUNCH_TIMEOUT) {
		t.Error(err)
	}
	err := b.Close() // waits for the kernel
	_ = errors.Join(s.Close(), m.Close())
	if !errors.Is(err, driver.CUDA_ERROR_LAUNCH_TIMEOUT) {
		t.Errorf("Close returns %v", err)
	}
	r.end()
	said := strings.Join(r.errors, "\n")
	for _, want := range []string{"timeout in kernel endless at ptx input:7", "bra LOOP", "longer than 50ms"} {
		if !strings.Contains(said, want) {
			t.Errorf("the test does not say %q:\n%s", want, said)
		}
	}
}
