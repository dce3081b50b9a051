package driver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/driver/image"
)

// The function Fill creates an operation. The method Fill of a buffer or view runs immediately.
func ExampleFill() {
	c := exampleContext()
	s, err := c.NewStream()
	check(err)
	b, err := driver.AllocFrom(c, []int16{1, 1, 1, 1})
	check(err)
	fill, err := driver.Fill(b.View(2, 4), int16(7))
	check(err)
	check(s.Do(fill), s.Wait(context.Background()))
	got := make([]int16, 4)
	check(b.CopyTo(got))
	fmt.Println(fill, got)
	check(b.Close(), s.Close(), c.Close())
	// Output: fill of 4 bytes [1 1 7 7]
}

// An operation can also record an event or wait for one.
func ExampleRecordOp() {
	c := exampleContext()
	s, err := c.NewStream()
	check(err)
	e, err := c.NewEvent()
	check(err)
	reached := driver.RecordOp(e)
	check(s.Do(reached))
	check(e.Wait(context.Background()))
	fmt.Println(reached.Context() == e.Context())
	check(e.Close(), s.Close(), c.Close())
	// Output: true
}

// Work enqueued after the wait runs once the event has completed.
func ExampleWaitOp() {
	c := exampleContext()
	first, err := c.NewStream()
	check(err)
	second, err := c.NewStream()
	check(err)
	e, err := c.NewEvent()
	check(err)
	b, err := driver.AllocFrom(c, []int32{0})
	check(err)
	one, err := driver.Fill(b, int32(1))
	check(err)
	two, err := driver.Fill(b, int32(2))
	check(err)

	check(first.Do(one), first.Do(driver.RecordOp(e)))
	check(second.Do(driver.WaitOp(e)), second.Do(two), second.Wait(context.Background()))
	got := make([]int32, 1)
	check(b.CopyTo(got))
	fmt.Println(got)
	check(b.Close(), e.Close(), second.Close(), first.Close(), c.Close())
	// Output: [2]
}

// A stream can write words and wait for their values without a kernel.
func ExampleMemOp() {
	c := exampleContext()
	first, err := c.NewStream()
	check(err)
	second, err := c.NewStream()
	check(err)
	flag, err := driver.AllocFrom(c, []uint32{0, 0})
	check(err)
	wait, err := driver.NewMemOp(c, driver.WaitWord(flag, 0, uint32(1), cu.CU_STREAM_WAIT_VALUE_GEQ), driver.WriteWord(flag, 1, uint32(5), 0))
	check(err)
	signal, err := driver.NewMemOp(c, driver.WriteWord(flag, 0, uint32(1), 0))
	check(err)

	check(first.Do(wait), second.Do(signal))
	check(first.Wait(context.Background()))
	got := make([]uint32, 2)
	check(flag.CopyTo(got))
	fmt.Println(got)
	check(flag.Close(), second.Close(), first.Close(), c.Close())
	// Output: [1 5]
}

// A Go function runs between other work in a stream.
func ExampleHostFunc() {
	c := exampleContext()
	s, err := c.NewStream()
	check(err)
	host, err := driver.AllocHost[int32](c, 2)
	check(err)
	b, err := driver.AllocFrom(c, []int32{3, 4})
	check(err)
	down, err := driver.Download(host, b)
	check(err)
	sum := int32(0)
	add, err := driver.NewHostFunc(c, func() { sum += host.Slice()[0] + host.Slice()[1] })
	check(err)
	for range 2 {
		check(s.Do(down), s.Do(add))
	}
	check(s.Wait(context.Background()))
	fmt.Println(sum)
	check(b.Close(), host.Close(), s.Close(), c.Close())
	// Output: 14
}

// ArgOf checks an argument's type once. Use it for an argument that changes at every step.
func ExampleArgOf() {
	c := exampleContext()
	m, err := c.LoadModule([]byte(workPTX))
	check(err)
	axpy, err := m.Kernel("axpy")
	check(err)
	s, err := c.NewStream()
	check(err)
	x, err := driver.AllocFrom(c, []float32{1, 2})
	check(err)
	y, err := driver.AllocFrom(c, []float32{0, 0})
	check(err)
	step, err := axpy.Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(32)}, x, y, float32(0), uint32(2))
	check(err)
	alpha, err := driver.ArgOf[float32](step, 2)
	check(err)
	for i := range 3 {
		check(alpha.Set(float32(i)), s.Do(step))
	}
	check(s.Wait(context.Background()))
	got := make([]float32, 2)
	check(y.CopyTo(got))
	fmt.Println(got)
	_, err = driver.ArgOf[float64](step, 2)
	fmt.Println(err != nil)
	check(y.Close(), x.Close(), s.Close(), m.Close(), c.Close())
	// Output:
	// [3 6]
	// true
}

// An AllocOp is for graphs, but it can also allocate in a stream.
func ExampleNewAlloc() {
	c := exampleContext()
	s, err := c.NewStream()
	check(err)
	op, err := driver.NewAlloc[float32](c, nil, 100)
	check(err)
	b, err := op.AllocIn(s) // like AllocAsync; graph.AddAlloc adds a node
	check(err)
	fmt.Println(b.Len(), b.FreeAsync(s), s.Wait(context.Background()))
	check(s.Close(), c.Close())
	// Output: 100 <nil> <nil>
}

// A FreeOp is for graphs. It specifies which memory a node frees.
func ExampleNewFree() {
	c := exampleContext()
	s, err := c.NewStream()
	check(err)
	b, err := driver.AllocAsync[float32](s, 100)
	check(err)
	free, err := driver.NewFree(b)
	check(err)
	fmt.Println(free.Context() == c)
	check(b.FreeAsync(s), s.Wait(context.Background()))
	check(s.Close(), c.Close())
	// Output: true
}

// semaphores returns a stream and the two sides of a semaphore that is shared with another API. The
// emulator acts as the other API.
func semaphores() (*driver.Stream, *driver.ExternalSemaphore, *emulator.Semaphore) {
	const kind = cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
	emu := emulator.New(emulator.Config{})
	d, err := driver.New(emu)
	check(err)
	dev, err := d.Device(0)
	check(err)
	c, err := dev.PrimaryContext()
	check(err)
	s, err := c.NewStream()
	check(err)
	theirs, err := emu.NewSemaphore(kind)
	check(err)
	ours, err := c.ImportSemaphoreFD(kind, int(theirs.Export()))
	check(err)
	return s, ours, theirs
}

// A program imports another API's semaphore once. A stream can then wait for the semaphore's values
// and signal new ones.
func ExampleExternalSemaphore() {
	s, ours, theirs := semaphores()
	wait, err := driver.NewSemaphoreWait(driver.SemaphorePoint{Semaphore: ours, Value: 1})
	check(err)
	signal, err := driver.NewSemaphoreSignal(driver.SemaphorePoint{Semaphore: ours, Value: 2})
	check(err)
	check(s.Do(wait), s.Do(signal)) // neither call blocks the program
	theirs.Signal(1)
	check(theirs.Wait(context.Background(), 2), s.Wait(context.Background()))
	fmt.Println(theirs.Value())
	check(ours.Close(), s.Close())
	// Output: 2
}

// A program can change the value of a signal operation before it enqueues the operation again.
func ExampleNewSemaphoreSignal() {
	s, ours, theirs := semaphores()
	signal, err := driver.NewSemaphoreSignal(driver.SemaphorePoint{Semaphore: ours})
	check(err)
	for step := range uint64(3) {
		check(signal.SetValue(0, step+1), s.Do(signal))
	}
	check(s.Wait(context.Background()))
	fmt.Println(theirs.Value())
	check(ours.Close(), s.Close())
	// Output: 3
}

// Work enqueued after the wait runs once the semaphore has reached the value.
func ExampleNewSemaphoreWait() {
	s, ours, theirs := semaphores()
	wait, err := driver.NewSemaphoreWait(driver.SemaphorePoint{Semaphore: ours, Value: 5})
	check(err)
	check(s.Do(wait))
	done, err := s.Query()
	check(err)
	fmt.Println(done)
	theirs.Signal(5)
	check(s.Wait(context.Background()))
	check(ours.Close(), s.Close())
	// Output: false
}

func ExampleProperties() {
	c := exampleContext()
	p, err := c.Device().Properties()
	check(err)
	fmt.Println(p.SM(), p.Multiprocessors, p.WarpSize, p.TotalMem>>30, "GiB")
	check(c.Close())
	// Output: 90 132 32 8 GiB
}

// Blocks returns a grid with at least one thread per element.
func ExampleBlocks() {
	fmt.Println(driver.Blocks(1000, 256), driver.D1(4).Count(), driver.Dim3{X: 4, Y: 2, Z: 1}.Count())
	// Output: 4×1×1 4 8
}

// An image set can be created from images that are already in memory.
func ExampleNewImageSet() {
	c := exampleContext()
	plain, err := image.Parse("axpy.ptx", []byte(workPTX))
	check(err)
	newer, err := image.Parse("axpy90.ptx", []byte(strings.Replace(workPTX, ".version 7.0\n.target sm_70", ".version 7.8\n.target sm_90", 1)))
	check(err)
	set, err := driver.NewImageSet(plain, newer)
	check(err)
	for _, i := range set.Images() {
		fmt.Println(i.Parts())
	}
	m, err := set.LoadModule(c)
	check(err)
	fmt.Println(m.Kernel("axpy"))
	check(m.Close(), c.Close())
	// Output:
	// [PTX 7.0 for sm_70]
	// [PTX 7.8 for sm_90]
	// kernel axpy <nil>
}

// A library is like a module that is valid in all contexts (CUDA 12.0).
func ExampleLibrary() {
	c := exampleContext()
	l, err := c.LoadLibrary([]byte(workPTX))
	check(err)
	names, err := l.Kernels()
	check(err)
	factor, err := l.Global("factor")
	check(err)
	fmt.Println(slices.Contains(names, "axpy"), factor.Bytes())
	check(l.Close(), c.Close())
	// Output: true 4
}

// The elements of an array have no addresses. Only copies can access them.
func ExampleArray() {
	c := exampleContext()
	s, err := c.NewStream()
	check(err)
	a, err := c.NewArray(cu.CUDA_ARRAY3D_DESCRIPTOR{Width: 2, Height: 2, Format: cu.CU_AD_FORMAT_UNSIGNED_INT32, NumChannels: 1})
	check(err)
	host, err := driver.AllocHostFrom(c, []uint32{1, 2, 3, 4})
	check(err)
	row := a.RowBytes()
	up, err := driver.Copy2D(driver.Region{Memory: a}, driver.Region{Memory: host, Pitch: row}, row, 2)
	check(err)
	corner, err := driver.Copy2D(driver.Region{Memory: host, Pitch: row}, driver.Region{Memory: a, X: 4, Y: 1}, 4, 1)
	check(err)
	check(s.Do(up), s.Do(corner), s.Wait(context.Background()))
	fmt.Println(host.Slice(), a.Bytes())
	check(host.Close(), a.Close(), s.Close(), c.Close())
	// Output: [4 2 3 4] 16
}

// A copy can use a view of page-locked memory as its source or destination.
func ExampleHostView() {
	c := exampleContext()
	s, err := c.NewStream()
	check(err)
	host, err := driver.AllocHostFrom(c, []int32{1, 2, 3, 4})
	check(err)
	b, err := driver.Alloc[int32](c, 2)
	check(err)
	up, err := driver.Upload(b, host.View(2, 4))
	check(err)
	down, err := driver.Download(host.View(0, 2), b)
	check(err)
	check(s.Do(up), s.Do(down), s.Wait(context.Background()))
	fmt.Println(host.View(0, 3).Slice())
	check(b.Close(), host.Close(), s.Close(), c.Close())
	// Output: [3 4 3]
}

// CUDA counts the references to a user object and destroys it when the last one is released.
func ExampleUserObject() {
	c := exampleContext()
	gone := make(chan bool)
	u, err := c.NewUserObject(func() { close(gone) })
	check(err)
	check(u.Retain(1)) // a graph does this in graph.Graph.RetainUserObject
	check(u.Release(1), u.Close())
	<-gone
	check(c.Close())
	fmt.Println("destroyed")
	// Output: destroyed
}

// Package graph derives edges from the memory accesses that operations declare.
func ExampleDeclared_Access() {
	c := exampleContext()
	b, err := driver.Alloc[byte](c, 100)
	check(err)
	low, err := driver.Out(b.View(0, 60)).Access()
	check(err)
	high, err := driver.In(b.View(50, 100)).Access()
	check(err)
	from, to, ok := low.Common(high)
	fmt.Println(low.Overlaps(high), ok, from-uint64(b.Ptr()), to-uint64(b.Ptr()))
	check(b.Close(), c.Close())
	// Output: true true 50 60
}

// If a wait returns a kernel fault, a program can find out which check failed, and continue.
func ExampleKernelFault() {
	wait := func() error { // stands for Stream.Wait after a launch with a length that is too small
		return &driver.KernelFault{Kind: "index", Kernel: "step", File: "heat/step.go", Line: 17, Column: 9,
			Values: [3]int64{1127, 1127}, Block: [3]uint32{3}, Thread: [3]uint32{31}}
	}
	err := wait()
	// [fault]
	var fault *driver.KernelFault
	if errors.As(err, &fault) {
		fmt.Printf("%s:%d: thread %v of block %v\n", fault.File, fault.Line, fault.Thread, fault.Block)
	}
	// [end]
	if fault.Kind == "index" {
		fmt.Println("index", fault.Values[0], "of", fault.Values[1])
	}
	// Output:
	// heat/step.go:17: thread [31 0 0] of block [3 0 0]
	// index 1127 of 1127
}
