package emulator_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
)

const doubling = `.version 7.0
.target sm_70
.address_size 64
.visible .entry double(.param .u64 p, .param .u32 n)
{
	.reg .pred %q;
	.reg .b32 %r<5>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	setp.ge.u32 %q, %r2, %r1;
	@%q ret;
	mul.wide.u32 %rd2, %r2, 4;
	add.u64 %rd1, %rd1, %rd2;
	ld.global.u32 %r3, [%rd1];
	shl.b32 %r4, %r3, 1;
	st.global.u32 [%rd1], %r4;
	ret;
}
`

// demo is the state of an example program: a buffer of 64 numbers, and a kernel that doubles the
// first n of them.
type demo struct {
	d      *driver.Driver
	c      *driver.Context
	s      *driver.Stream
	m      *driver.Module
	x      *driver.Buffer[uint32]
	double *driver.Launch
}

func open(emu *emulator.Emulator, n uint32) (p demo, err error) {
	if p.d, err = driver.New(emu); err != nil {
		return p, err
	}
	dev, err := p.d.Device(0)
	if err != nil {
		return p, err
	}
	if p.c, err = dev.PrimaryContext(); err != nil {
		return p, err
	}
	if p.s, err = p.c.NewStream(); err != nil {
		return p, err
	}
	if p.m, err = p.c.LoadModule([]byte(doubling)); err != nil {
		return p, err
	}
	if p.x, err = driver.Alloc[uint32](p.c, 64); err != nil {
		return p, err
	}
	k, err := p.m.Kernel("double")
	if err != nil {
		return p, err
	}
	p.double, err = k.Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(128)}, p.x, n)
	return p, err
}

func (p demo) run() error {
	return errors.Join(p.x.Fill(21), p.s.Do(p.double), p.s.Wait(context.Background()))
}

func (p demo) close() {
	for _, c := range []interface{ Close() error }{p.x, p.m, p.s, p.c, p.d} {
		c.Close()
	}
}

// To run the same program on a GPU, pass the result of driver.SystemLibrary instead of the
// emulator.
func ExampleNew() {
	emu := emulator.New(emulator.Config{ComputeCapability: [2]int{8, 0}, Multiprocessors: 108})
	defer emu.Close()
	p, err := open(emu, 64)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.close()
	out := make([]uint32, 64)
	if err := errors.Join(p.run(), p.x.CopyTo(out)); err != nil {
		fmt.Println(err)
	}
	name, _ := p.c.Device().Name()
	fmt.Println(name, out[0], out[63])
	// Output: purecuda emulator (sm_80) 42 42
}

// A kernel that accesses memory outside its buffer fails as on a device. The emulator reports the
// faulting access.
func ExampleEmulator_LastFault() {
	emu := emulator.New(emulator.Config{})
	defer emu.Close()
	p, err := open(emu, 65) // one element more than the buffer has
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(errors.Is(p.run(), cu.CUDA_ERROR_ILLEGAL_ADDRESS))
	f := emu.Findings()[0]
	fmt.Println(f.Kind, f.Kernel, f.Line, f.Thread, emu.LastFault() == f.String())
	// Output:
	// true
	// illegal address double 16 [64 0 0] true
}

func ExampleEmulator_Profile() {
	emu := emulator.New(emulator.Config{Profile: true})
	defer emu.Close()
	p, err := open(emu, 64)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.close()
	if err := p.run(); err != nil {
		fmt.Println(err)
	}
	k := emu.Profile("double")
	fmt.Println(k.Launches, k.Opcodes["ld.global.u32"].Lanes, k.Global.Loads.Transactions, k.Global.Loads.Coalesced)
	fmt.Println(emu.Stats().Launches)
	// Output:
	// 1 64 8 2
	// 1
}

// Simulated times show which of two programs takes longer. They are the same in every run.
func ExampleCostModel() {
	emu := emulator.New(emulator.Config{CostModel: &emulator.CostModel{Kernel: 5 * time.Microsecond, Graph: 3 * time.Microsecond, GraphKernel: time.Microsecond}})
	defer emu.Close()
	p, err := open(emu, 64)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.close()
	g, err := graph.New(p.c)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	if _, err := g.AddBatch(nil, graph.Chain([]driver.Op{p.double, p.double, p.double})); err != nil {
		fmt.Println(err)
	}
	x, err := g.Instantiate()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer x.Close()
	took := func(submit func() error) time.Duration {
		before := emu.SimulatedTime()
		if err := errors.Join(submit(), p.s.Wait(context.Background())); err != nil {
			fmt.Println(err)
		}
		return emu.SimulatedTime() - before
	}
	fmt.Println(took(func() error { return errors.Join(p.s.Do(p.double), p.s.Do(p.double), p.s.Do(p.double)) }))
	fmt.Println(took(func() error { return x.Launch(p.s) }))
	// Output:
	// 15µs
	// 6µs
}

// A Semaphore represents a semaphore that was created by another API and imported into the program.
func ExampleSemaphore() {
	emu := emulator.New(emulator.Config{})
	defer emu.Close()
	p, err := open(emu, 64)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.close()
	const kind = cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
	theirs, err := emu.NewSemaphore(kind)
	if err != nil {
		fmt.Println(err)
		return
	}
	ours, err := p.c.ImportSemaphoreFD(kind, int(theirs.Export()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ours.Close()
	signal, err := driver.NewSemaphoreSignal(driver.SemaphorePoint{Semaphore: ours, Value: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(errors.Join(p.s.Do(signal), theirs.Wait(context.Background(), 3)), theirs.Value())
	// Output: <nil> 3
}

func ExampleRefused() {
	for _, f := range []cu.Function{cu.FnCuMemAlloc, cu.FnCuIpcGetMemHandle} {
		if what, refused := emulator.Refused(f.Symbol()); refused {
			fmt.Printf("%v is refused: there is no emulation of %s\n", f, what)
		} else {
			fmt.Printf("%v is implemented\n", f)
		}
	}
	// Output:
	// cuMemAlloc is implemented
	// cuIpcGetMemHandle is refused: there is no emulation of memory and events shared between processes
}
