package cudatest_test

import (
	"fmt"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
)

// Device returns a context for a test. Counts show which driver calls one step of a program makes.
func ExampleDevice() {
	test := func(t *testing.T) {
		c := cudatest.Device(t)
		x, err := driver.Alloc[float32](c, 1024)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		before := cudatest.CountsOf(c.Driver())
		if err := x.Fill(1); err != nil {
			t.Error(err)
		}
		if n := cudatest.CountsOf(c.Driver()).Since(before); n.Fills != 1 || n.Copies() != 0 {
			t.Errorf("filling a buffer is %v", n)
		}
	}
	// A real test would be the function TestFill(t *testing.T).
	fmt.Println(passes("TestFill", test))
	// Output: true
}

func ExampleCounts_String() {
	n := cudatest.Counts{Calls: 9, GraphLaunches: 1, HostToDevice: cudatest.Amount{Count: 2, Bytes: 8192}}
	fmt.Println(n)
	// Output: calls: 9, graph launches: 1, copies to the device: 2 of 8192 bytes
}

// Every package with kernels in Go should have this test. It fails if the generated files are out
// of date.
func ExampleCheckKernels() {
	test := func(t *testing.T) { cudatest.CheckKernels(t, "../../ptx/go2ptx/internal/example") }
	// A real test would be the function TestKernelsAreUpToDate(t *testing.T) and pass no folder.
	fmt.Println(passes("TestKernelsAreUpToDate", test))
	// Output: true
}
