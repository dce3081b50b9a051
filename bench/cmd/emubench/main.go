// Command emubench runs saxpy on the emulator with one element per thread. The script
// numba/saxpy.py does the same on numba's simulator. The command prints elements per second,
// with one worker and with one worker per processor.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

// saxpy is nvcc's output for
//
//	int i = blockIdx.x * blockDim.x + threadIdx.x;
//	if (i < n) y[i] = a * x[i] + y[i];
const saxpy = `
.version 7.0
.target sm_70
.address_size 64
.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
{
	.reg .pred %p<2>; .reg .f32 %f<5>; .reg .b32 %r<6>; .reg .b64 %rd<8>;
	ld.param.u32 %r2, [n];
	ld.param.f32 %f1, [a];
	ld.param.u64 %rd1, [x];
	ld.param.u64 %rd2, [y];
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %ntid.x;
	mov.u32 %r5, %tid.x;
	mad.lo.s32 %r1, %r3, %r4, %r5;
	setp.ge.s32 %p1, %r1, %r2;
	@%p1 bra END;
	cvta.to.global.u64 %rd3, %rd1;
	mul.wide.s32 %rd4, %r1, 4;
	add.s64 %rd5, %rd3, %rd4;
	ld.global.f32 %f2, [%rd5];
	cvta.to.global.u64 %rd6, %rd2;
	add.s64 %rd7, %rd6, %rd4;
	ld.global.f32 %f3, [%rd7];
	fma.rn.f32 %f4, %f2, %f1, %f3;
	st.global.f32 [%rd7], %f4;
END:
	ret;
}
`

const (
	n     = 1 << 20
	block = 128
	limit = 2 * time.Second
)

func main() {
	for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
		rate, err := measure(workers)
		if err != nil {
			fmt.Fprintln(os.Stderr, "emubench:", err)
			os.Exit(1)
		}
		fmt.Printf("emulator workers=%d %.0f\n", workers, rate)
	}
}

// measure returns the best rate of all launches within the time limit.
func measure(workers int) (best float64, err error) {
	d, err := driver.New(emulator.New(emulator.Config{Workers: workers}))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	dev, err := d.Device(0)
	if err != nil {
		return 0, err
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return launches(c)
}

func launches(c *driver.Context) (best float64, err error) {
	m, err := c.LoadModule([]byte(saxpy))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	k, err := m.Kernel("saxpy")
	if err != nil {
		return 0, err
	}
	x, y, want := operands()
	dx, err := driver.AllocFrom(c, x)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dx.Close()) }()
	dy, err := driver.AllocFrom(c, y)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dy.Close()) }()
	s, err := c.NewStream()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	launch, err := k.Prepare(driver.LaunchConfig{Grid: driver.D1(n / block), Block: driver.D1(block)}, int32(n), float32(2), dx, dy)
	if err != nil {
		return 0, err
	}
	if err := run(s, launch); err != nil {
		return 0, err
	}
	if err := dy.CopyTo(y); err != nil {
		return 0, err
	}
	for i := range y {
		if y[i] != want[i] {
			return 0, fmt.Errorf("element %d is %v, want %v", i, y[i], want[i])
		}
	}
	for end := time.Now().Add(limit); time.Now().Before(end); {
		start := time.Now()
		if err := run(s, launch); err != nil {
			return 0, err
		}
		best = max(best, n/time.Since(start).Seconds())
	}
	return best, nil
}

func run(s *driver.Stream, launch *driver.Launch) error {
	if err := s.Do(launch); err != nil {
		return err
	}
	return s.Wait(context.Background())
}

func operands() (x, y, want []float32) {
	x, y, want = make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i] = float32(i%4096), 1
		want[i] = 2*x[i] + 1
	}
	return x, y, want
}
