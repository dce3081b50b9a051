package driver_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/image"
)

func ExampleProperties() {
	c := exampleContext()
	p, err := c.Device().Properties()
	check(err)
	fmt.Println(p.SM(), p.Multiprocessors, p.WarpSize, p.TotalMem>>30, "GiB")
	check(c.Close())
	// Output: 90 132 32 8 GiB
}

// Blocks is the grid that has a thread for each element.
func ExampleBlocks() {
	fmt.Println(driver.Blocks(1000, 256), driver.D1(4).Count(), driver.Dim3{X: 4, Y: 2, Z: 1}.Count())
	// Output: 4×1×1 4 8
}

// A set of images that a program already has in its memory.
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
	m, err := set.LoadModule(c) // the nearest to the device
	check(err)
	fmt.Println(m.Kernel("axpy"))
	check(m.Close(), c.Close())
	// Output:
	// [PTX 7.0 for sm_70]
	// [PTX 7.8 for sm_90]
	// kernel axpy <nil>
}

// A library is a module for all contexts (CUDA 12.0).
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

// An array has no address; copies reach it.
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

// A view of page-locked memory is one end of a copy.
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

// CUDA counts the references to a user object, and the last one destroys it.
func ExampleUserObject() {
	c := exampleContext()
	gone := make(chan bool)
	u, err := c.NewUserObject(func() { close(gone) })
	check(err)
	check(u.Retain(1)) // as a graph does; see graph.Graph.RetainUserObject
	check(u.Release(1), u.Close())
	<-gone
	check(c.Close())
	fmt.Println("destroyed")
	// Output: destroyed
}

// What an operation reads and writes is what package graph derives edges from.
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
