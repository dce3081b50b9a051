package cudatest

import (
	"fmt"
	"strings"

	"github.com/purecuda/cuda/driver"
)

// Counts are the calls of a driver that succeeded, seen from the host: a launch
// of a graph is one call, whatever the graph does. They are counted in the same
// way on the emulator and on a GPU. What the emulated device did, nodes of
// graphs included, is in emulator.Stats and emulator.Profile.
type Counts struct {
	// Calls are all driver calls, also those that failed and those that the
	// library makes to put a context in place.
	Calls uint64
	// Launches of kernels, and of graphs.
	Launches, GraphLaunches uint64
	// Copies by the kinds of memory that the call names. Unified are those
	// that leave it to the driver to find out.
	HostToDevice, DeviceToHost, DeviceToDevice, HostToHost, Unified Amount
	// Fills of device memory.
	Fills uint64
	// HostFunctions that were put into streams.
	HostFunctions uint64
	// Allocations of device memory, stream-ordered ones included, and of
	// page-locked memory of the host.
	Allocations, HostAllocations Amount
	// Frees of either.
	Frees uint64
	// Waits are calls that wait for a context, a stream or an event.
	Waits uint64
	// Instantiations and Updates of whole graphs.
	Instantiations, Updates uint64
	// Recorded are the launches, copies, fills, host functions and allocations
	// that went into a capture. They are not counted otherwise.
	Recorded uint64
}

// Amount is a number of copies or allocations and their bytes.
type Amount struct{ Count, Bytes uint64 }

// CountsOf returns what a driver of this package has done since it was made.
// It panics for a driver that was made otherwise.
func CountsOf(d *driver.Driver) Counts {
	c, ok := d.Library().(*counter)
	if !ok {
		panic(fmt.Sprintf("cudatest.CountsOf: %s was not opened by cudatest, whose drivers alone are counted", d.LibraryName()))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sum
}

// fields lists the numbers of a Counts, with their names.
func (c *Counts) fields() []field {
	return []field{
		{"calls", &c.Calls, nil}, {"launches", &c.Launches, nil}, {"graph launches", &c.GraphLaunches, nil},
		{"copies to the device", &c.HostToDevice.Count, &c.HostToDevice.Bytes},
		{"copies from the device", &c.DeviceToHost.Count, &c.DeviceToHost.Bytes},
		{"copies on devices", &c.DeviceToDevice.Count, &c.DeviceToDevice.Bytes},
		{"copies on the host", &c.HostToHost.Count, &c.HostToHost.Bytes},
		{"unified copies", &c.Unified.Count, &c.Unified.Bytes},
		{"fills", &c.Fills, nil}, {"host functions", &c.HostFunctions, nil},
		{"allocations", &c.Allocations.Count, &c.Allocations.Bytes},
		{"host allocations", &c.HostAllocations.Count, &c.HostAllocations.Bytes},
		{"frees", &c.Frees, nil}, {"waits", &c.Waits, nil},
		{"instantiations", &c.Instantiations, nil}, {"updates", &c.Updates, nil}, {"recorded", &c.Recorded, nil},
	}
}

// field is a number, and the bytes that belong to it.
type field struct {
	name     string
	n, bytes *uint64
}

// Since returns what was done after before was taken.
func (c Counts) Since(before Counts) Counts {
	old := before.fields()
	for i, f := range c.fields() {
		*f.n -= *old[i].n
		if f.bytes != nil {
			*f.bytes -= *old[i].bytes
		}
	}
	return c
}

// Copies is the number of copies of all kinds.
func (c Counts) Copies() uint64 {
	return c.HostToDevice.Count + c.DeviceToHost.Count + c.DeviceToDevice.Count + c.HostToHost.Count + c.Unified.Count
}

// BytesCopied is what they moved.
func (c Counts) BytesCopied() uint64 {
	return c.HostToDevice.Bytes + c.DeviceToHost.Bytes + c.DeviceToDevice.Bytes + c.HostToHost.Bytes + c.Unified.Bytes
}

// String lists what is not zero.
func (c Counts) String() string {
	var parts []string
	for _, f := range c.fields() {
		switch {
		case *f.n == 0:
		case f.bytes != nil:
			parts = append(parts, fmt.Sprintf("%s: %d of %d bytes", f.name, *f.n, *f.bytes))
		default:
			parts = append(parts, fmt.Sprintf("%s: %d", f.name, *f.n))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
