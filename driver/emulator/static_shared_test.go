package emulator_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

// The limit on a kernel's static shared memory is checked when the text is compiled for the device.
// The limit of a block is checked at the launch.
func TestStaticSharedMemoryAbove48KiB(t *testing.T) {
	const kib = 1 << 10
	for _, c := range []struct {
		capability     [2]int
		compiled, runs int // the most bytes
	}{
		{[2]int{7, 5}, 64 * kib, 64 * kib},
		{[2]int{8, 0}, 164 * kib, 163 * kib},
		{[2]int{8, 6}, 100 * kib, 99 * kib},
		{[2]int{8, 9}, 164 * kib, 99 * kib},
		{[2]int{9, 0}, 164 * kib, 164 * kib},
	} {
		p, err := open(emulator.New(emulator.Config{ComputeCapability: c.capability}), 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, bytes := range []int{48 * kib, 48*kib + 4, c.runs, c.runs + 4, c.compiled, c.compiled + 4} {
			if err := p.staticShared(bytes); bytes > c.compiled {
				if !errors.Is(err, cu.CUDA_ERROR_INVALID_PTX) {
					t.Errorf("%v: %d bytes: %v; want CUDA_ERROR_INVALID_PTX", c.capability, bytes, err)
				}
			} else if bytes > c.runs {
				if !errors.Is(err, cu.CUDA_ERROR_INVALID_VALUE) {
					t.Errorf("%v: %d bytes: %v; want CUDA_ERROR_INVALID_VALUE", c.capability, bytes, err)
				}
			} else if err != nil {
				t.Errorf("%v: %d bytes: %v", c.capability, bytes, err)
			}
		}
		p.d.Close()
	}
}

// staticShared runs a kernel that writes and reads both ends of an array.
func (p demo) staticShared(bytes int) error {
	m, err := p.c.LoadModule(fmt.Appendf(nil, `.version 6.3
.target sm_70
.address_size 64
.shared .align 4 .b8 s[%d];
.visible .entry k(.param .u64 out)
{
	.reg .b32 %%r<4>;
	.reg .b64 %%d;
	ld.param.u64 %%d, [out];
	st.shared.b32 [s], 40;
	st.shared.b32 [s+%d], 2;
	ld.shared.b32 %%r1, [s];
	ld.shared.b32 %%r2, [s+%d];
	add.s32 %%r3, %%r1, %%r2;
	st.global.b32 [%%d], %%r3;
	ret;
}
`, bytes, bytes-4, bytes-4))
	if err != nil {
		return err
	}
	defer m.Close()
	k, err := m.Kernel("k")
	if err != nil {
		return err
	}
	out, err := driver.Alloc[int32](p.c, 1)
	if err != nil {
		return err
	}
	defer out.Close()
	// The typed API checks this on its own, so the emulator is tested first.
	address := out.Ptr()
	params := []unsafe.Pointer{unsafe.Pointer(&address)}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.d.CuCtxSetCurrent(p.c.Raw()); err != nil {
		return err
	}
	if err := p.d.CuLaunchKernel(k.Raw(), 1, 1, 1, 1, 1, 1, 0, 0, &params[0], nil); err != nil {
		return err
	}
	if err := p.d.CuCtxSynchronize(); err != nil {
		return err
	}
	if err := k.Launch(p.s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, out); err != nil {
		return fmt.Errorf("the driver launches it, and then: %v", err)
	}
	if err := p.s.Wait(context.Background()); err != nil {
		return err
	}
	got := make([]int32, 1)
	if err := out.CopyTo(got); err != nil {
		return err
	}
	if got[0] != 42 {
		return fmt.Errorf("the kernel returned %d", got[0])
	}
	return nil
}
