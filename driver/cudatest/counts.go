package cudatest

import (
	"fmt"
	"strings"

	"github.com/purecuda/cuda/driver"
)

// Counts are the numbers of driver calls made by the host. Except in Calls, only successful calls
// count. A graph launch is one call, whatever the graph does. The numbers have the same meaning on
// the emulator and on a GPU. For the work that the emulated device does, including graph nodes, see
// emulator.Stats and emulator.Profile.
type Counts struct {
	// Calls counts all driver calls. It includes failed calls, and calls with which the library
	// sets a context.
	Calls uint64
	// Launches counts kernel launches. GraphLaunches counts graph launches.
	Launches, GraphLaunches uint64
	// Copies are counted by the kinds of memory that the call specifies. Unified counts copies that
	// leave it to the driver to determine the kinds.
	HostToDevice, DeviceToHost, DeviceToDevice, HostToHost, Unified Amount
	// Fills counts fills of device memory.
	Fills uint64
	// HostFunctions counts host functions enqueued in streams.
	HostFunctions uint64
	// Allocations counts allocations of device memory, including stream-ordered ones.
	// HostAllocations counts allocations of page-locked memory.
	Allocations, HostAllocations Amount
	// Frees counts frees of device memory and of page-locked memory.
	Frees uint64
	// Waits counts calls that wait for a context, a stream or an event.
	Waits uint64
	// Instantiations counts instantiations of graphs. Updates counts updates of whole graphs.
	Instantiations, Updates uint64
	// Recorded counts captured launches, copies, fills, host functions, allocations and frees. The
	// other fields do not include them.
	Recorded uint64
}

// Amount is the number of copies or allocations and their total size in bytes.
type Amount struct{ Count, Bytes uint64 }

// CountsOf returns the counts of the calls on d since d was opened. It panics if d does not come
// from this package.
func CountsOf(d *driver.Driver) Counts {
	c, ok := d.Library().(*counter)
	if !ok {
		panic(fmt.Sprintf("cudatest.CountsOf: %s was not opened by cudatest, which counts only the calls of its own drivers", d.Library().Name()))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sum
}

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

// field is a count with its name. bytes is nil if the count has no bytes.
type field struct {
	name     string
	n, bytes *uint64
}

// Since returns the counts of the calls made after an earlier call of CountsOf, which returned
// before.
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

// Copies returns the total number of copies.
func (c Counts) Copies() uint64 {
	return c.HostToDevice.Count + c.DeviceToHost.Count + c.DeviceToDevice.Count + c.HostToHost.Count + c.Unified.Count
}

// BytesCopied returns the total number of bytes copied.
func (c Counts) BytesCopied() uint64 {
	return c.HostToDevice.Bytes + c.DeviceToHost.Bytes + c.DeviceToDevice.Bytes + c.HostToHost.Bytes + c.Unified.Bytes
}

// String lists the fields that are not zero.
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
