package driver_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/ptx"
)

// exampleContext returns the context that the examples use. A program would open the system's
// driver with driver.Open.
func exampleContext() *driver.Context {
	d, err := driver.New(emulator.New(emulator.Config{}))
	check(err)
	dev, err := d.Device(0)
	check(err)
	c, err := dev.PrimaryContext()
	check(err)
	return c
}

func check(errs ...error) {
	for _, err := range errs {
		if err != nil {
			log.Panic(err)
		}
	}
}

// A kernel that runs once can receive its arguments in the launch call.
func ExampleKernel_Launch() {
	c := exampleContext()
	m, err := c.LoadModule([]byte(workPTX))
	check(err)
	axpy, err := m.Kernel("axpy")
	check(err)
	s, err := c.NewStream()
	check(err)
	x, err := driver.AllocFrom(c, []float32{1, 2, 3})
	check(err)
	y, err := driver.AllocFrom(c, []float32{10, 20, 30})
	check(err)

	cfg := driver.LaunchConfig{Grid: driver.Blocks(x.Len(), 256), Block: driver.D1(256)}
	check(axpy.Launch(s, cfg, x, y, float32(2), uint32(x.Len())))
	check(s.Wait(context.Background()))

	got := make([]float32, y.Len())
	check(y.CopyTo(got))
	fmt.Println(got)
	check(x.Close(), y.Close(), s.Close(), m.Close(), c.Close())
	// Output: [12 24 36]
}

// A prepared launch can be enqueued many times. Between launches, the program sets only the
// arguments that change. Neither step allocates.
func ExampleKernel_Prepare() {
	c := exampleContext()
	m, err := c.LoadModule([]byte(workPTX))
	check(err)
	axpy, err := m.Kernel("axpy")
	check(err)
	s, err := c.NewStream()
	check(err)
	x, err := driver.AllocFrom(c, []float32{1, 2, 3})
	check(err)
	y, err := driver.AllocFrom(c, []float32{0, 0, 0})
	check(err)

	cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(32)}
	step, err := axpy.Prepare(cfg, x, y, float32(0), uint32(x.Len()))
	check(err)
	for i := range 3 {
		check(driver.SetArg(step, 2, float32(i)))
		check(s.Do(step))
	}
	check(s.Wait(context.Background()))

	got := make([]float32, y.Len())
	check(y.CopyTo(got))
	fmt.Println(got)
	_, err = axpy.Prepare(cfg, x, y, int32(2), uint32(3))
	fmt.Println(err)
	check(x.Close(), y.Close(), s.Close(), m.Close(), c.Close())
	// Output:
	// [3 6 9]
	// launch of kernel axpy: argument 2 (alpha): it is .f32, but the argument is an int32; pass a float32
}

// Asynchronous copies require page-locked memory. They do not accept Go slices, because the garbage
// collector could free a slice while the device still copies it.
func ExampleUpload() {
	c := exampleContext()
	s, err := c.NewStream()
	check(err)
	host, err := driver.AllocHostFrom(c, []int32{1, 2, 3, 4})
	check(err)
	b, err := driver.Alloc[int32](c, 4)
	check(err)

	up, err := driver.Upload(b, host)
	check(err)
	down, err := driver.Download(host.View(0, 2), b.View(2, 4))
	check(err)
	check(s.Do(up), s.Do(down))
	check(s.Wait(context.Background()))
	fmt.Println(host.Slice())
	check(b.Close(), host.Close(), s.Close(), c.Close())
	// Output: [3 4 3 4]
}

// A view is a part of a buffer. Every use of a view that is out of range returns an error.
func ExampleBuffer_View() {
	c := exampleContext()
	b, err := driver.AllocFrom(c, []float32{1, 2, 3, 4})
	check(err)
	check(b.View(1, 3).Fill(0))
	got := make([]float32, 4)
	check(b.CopyTo(got))
	fmt.Println(got)
	fmt.Println(b.View(2, 3).CopyFrom([]float32{1, 2}) != nil, b.View(3, 5).Err() != nil)
	check(b.Close(), c.Close())
	// Output:
	// [1 0 0 4]
	// true true
}

// driver.Open opens the system's driver. driver.New opens any other library, such as the emulator.
func ExampleNew() {
	d, err := driver.New(emulator.New(emulator.Config{Name: "a GPU in Go"}))
	if err != nil {
		log.Panic(err)
	}
	for dev, err := range d.Devices() {
		if err != nil {
			log.Panic(err)
		}
		p, err := dev.Properties()
		if err != nil {
			log.Panic(err)
		}
		fmt.Println(dev, "is", p.Name, "with compute capability", p.ComputeMajor)
	}
	check(d.Close())
	// Output: device 0 is a GPU in Go with compute capability 9
}

// Prefer the primary context, because other libraries in the process use it as well. You need not
// make it current on any thread.
func ExampleDevice_PrimaryContext() {
	d, err := driver.New(emulator.New(emulator.Config{}))
	check(err)
	dev, err := d.Device(0)
	check(err)
	c, err := dev.PrimaryContext()
	check(err)
	s, err := c.NewStream()
	check(err)

	check(c.Close()) // rejects new objects; existing ones keep the context alive
	_, err = c.NewStream()
	fmt.Println(errors.Is(err, driver.ErrClosed), s.Wait(context.Background()))
	check(s.Close()) // closing the last object releases the context
	// Output: true <nil>
}

// Wait also returns when its context.Context is done. The work in the stream continues.
func ExampleStream_Wait() {
	c := exampleContext()
	s, err := c.NewStream()
	check(err)
	finish := make(chan bool)
	check(s.HostFunc(func() { <-finish }))

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println("in time:", !errors.Is(s.Wait(ctx), context.DeadlineExceeded))
	close(finish)
	fmt.Println("at last:", s.Wait(context.Background()))
	check(s.Close(), c.Close())
	// Output:
	// in time: false
	// at last: <nil>
}

// Events order work between streams. With timing, they also measure how long work takes.
func ExampleEvent() {
	c := exampleContext()
	first, err := c.NewStream()
	check(err)
	second, err := c.NewStream()
	check(err)
	begin, err := c.NewEvent(driver.WithTiming())
	check(err)
	filled, err := c.NewEvent(driver.WithTiming())
	check(err)
	b, err := driver.Alloc[int32](c, 3)
	check(err)
	host, err := driver.AllocHost[int32](c, 3)
	check(err)
	fill, err := driver.Fill(b, 7)
	check(err)
	down, err := driver.Download(host, b)
	check(err)

	check(first.Record(begin), first.Do(fill), first.Record(filled))
	check(second.WaitEvent(filled), second.Do(down)) // runs after the fill
	check(second.Wait(context.Background()))
	took, err := filled.Elapsed(begin)
	check(err)
	fmt.Println(host.Slice(), took >= 0)
	check(host.Close(), b.Close(), filled.Close(), begin.Close(), second.Close(), first.Close(), c.Close())
	// Output: [7 7 7] true
}

// If PTX does not compile, the error explains why in one line. %+v also prints the compiler's whole
// log.
func ExampleContext_LoadModule() {
	c := exampleContext()
	m, err := c.LoadModule([]byte(workPTX))
	check(err)
	names, err := m.Kernels()
	check(err)
	fmt.Println(names[0])
	_, err = m.Kernel("Axpy")
	fmt.Println(errors.Is(err, driver.CUDA_ERROR_NOT_FOUND))

	_, err = c.LoadModule([]byte(".version 7.0\n.target sm_70\n.address_size 64\n.entry k() {\n  nonsense;\n}\n"))
	var e *driver.Error
	fmt.Println(errors.As(err, &e), e.Result, e.Log != "")
	check(m.Close(), c.Close())
	// Output:
	// axpy
	// true
	// true CUDA_ERROR_INVALID_PTX: the PTX does not compile; the log names the line true
}

// CanLoad checks a module's header without loading the module. If the driver or the device cannot
// run the module, the error states the reason and the remedy.
func ExampleContext_CanLoad() {
	c := exampleContext()
	fmt.Println(c.CanLoad([]byte(workPTX)))
	err := c.CanLoad([]byte(".version 8.7\n.target sm_120\n.address_size 64\n"))
	var unmet *ptx.UnmetError
	fmt.Println(errors.As(err, &unmet), errors.Is(err, driver.CUDA_ERROR_INVALID_PTX))
	fmt.Println("problem:", unmet.Problem)
	fmt.Println("advice:", unmet.Advice)
	check(c.Close())
	// Output:
	// <nil>
	// true true
	// problem: code for sm_120 runs on devices of compute capability 12.0 or newer, and this one has 9.0
	// advice: compile it for compute_90 or older (nvcc -arch=compute_90), or use a newer device
}

// With CU_JIT_LOG_VERBOSE, the compiler reports the registers and memory that each kernel uses. The
// emulator does not generate machine code, so it has nothing to report.
func ExampleWithJIT() {
	c := exampleContext()
	m, err := c.LoadModule([]byte(workPTX), driver.WithJIT(cu.CU_JIT_LOG_VERBOSE, 1))
	check(err)
	if log := m.Log(); log != "" {
		fmt.Println(log)
	} else {
		fmt.Println("nothing to report")
	}
	check(m.Close(), c.Close())
	// Output: nothing to report
}

// Copies from and to page-locked memory run asynchronously.
func ExampleHostBuffer() {
	c := exampleContext()
	s, err := c.NewStream()
	check(err)
	h, err := driver.AllocHost[float64](c, 4)
	check(err)
	b, err := driver.AllocFrom(c, []float64{1, 2, 3, 4})
	check(err)

	back, err := driver.Download(h, b)
	check(err)
	check(s.Do(back))
	check(s.Wait(context.Background())) // until this returns, the device may write the slice
	fmt.Println(h.Slice())
	check(h.Close(), b.Close(), s.Close(), c.Close())
	// Output: [1 2 3 4]
}

// Stream-ordered memory comes from a pool. Allocations and frees run in stream order and do not
// wait.
func ExampleMemPool() {
	c := exampleContext()
	s, err := c.NewStream()
	check(err)
	pool, err := c.NewMemPool()
	check(err)
	check(pool.SetReleaseThreshold(1 << 20)) // keeps freed memory for the next step

	for range 3 {
		b, err := driver.AllocFromPool[float32](s, pool, 1000)
		check(err)
		fill, err := driver.Fill(b, 1)
		check(err)
		check(s.Do(fill), b.FreeAsync(s))
	}
	check(s.Wait(context.Background()))
	stats, err := pool.Stats()
	check(err)
	fmt.Println(stats.Used, "bytes are in use")
	check(pool.Close(), s.Close(), c.Close())
	// Output: 0 bytes are in use
}

// Operations are values: a program can store them in a list and enqueue the list repeatedly.
// Package graph accepts the same list.
func ExampleOp() {
	c := exampleContext()
	s, err := c.NewStream()
	check(err)
	b, err := driver.Alloc[int32](c, 2)
	check(err)
	host, err := driver.AllocHost[int32](c, 2)
	check(err)
	fill, err := driver.Fill(b.View(0, 1), 5)
	check(err)
	twice, err := driver.CopyDevice(b.View(1, 2), b.View(0, 1))
	check(err)
	down, err := driver.Download(host, b)
	check(err)

	for _, op := range []driver.Op{fill, twice, down} {
		fmt.Println(op)
		check(s.Do(op))
	}
	check(s.Wait(context.Background()))
	fmt.Println(host.Slice())
	check(host.Close(), b.Close(), s.Close(), c.Close())
	// Output:
	// fill of 4 bytes
	// device copy of 4 bytes
	// download of 8 bytes
	// [5 5]
}

// An error matches its CUDA code or a sentinel error of this package. An Error also has the name of
// the function that failed.
func ExampleError() {
	c := exampleContext()
	_, err := driver.Alloc[byte](c, 1<<50)
	var e *driver.Error
	if errors.As(err, &e) {
		fmt.Println(e.Func, errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY))
	}

	b, err := driver.Alloc[byte](c, 1)
	check(err)
	check(b.Close(), b.Close()) // closing twice is allowed
	fmt.Println(errors.Is(b.Fill(0), driver.ErrClosed))
	check(c.Close())
	// Output:
	// cuMemAlloc true
	// true
}
