package driver

import (
	"fmt"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// GraphMemStats reports the memory of graphs' allocation nodes on a device, in bytes. The driver
// keeps it apart from its pools, and keeps freed memory for the next launch until
// [Device.TrimGraphMem].
type GraphMemStats struct {
	Used, UsedHigh         uint64 // in allocations; the most since ResetGraphMemStats
	Reserved, ReservedHigh uint64 // taken from the device
}

// GraphMemStats returns the memory that graphs hold on the device (CUDA 11.4).
func (dev Device) GraphMemStats() (GraphMemStats, error) {
	var s GraphMemStats
	if err := dev.check(); err != nil {
		return s, err
	}
	for _, v := range []struct {
		attribute cu.CUgraphMem_attribute
		to        *uint64
	}{
		{cu.CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &s.Used},
		{cu.CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &s.UsedHigh},
		{cu.CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &s.Reserved},
		{cu.CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &s.ReservedHigh},
	} {
		if err := dev.driver.CuDeviceGetGraphMemAttribute(dev.raw, v.attribute, unsafe.Pointer(v.to)); err != nil {
			return GraphMemStats{}, dev.named(fmt.Errorf("memory of graphs: %w", err))
		}
	}
	return s, nil
}

// ResetGraphMemStats resets the high-water marks to the current values (CUDA 11.4).
func (dev Device) ResetGraphMemStats() error {
	if err := dev.check(); err != nil {
		return err
	}
	for _, a := range []cu.CUgraphMem_attribute{cu.CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, cu.CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH} {
		zero := new(uint64)
		if err := dev.driver.CuDeviceSetGraphMemAttribute(dev.raw, a, unsafe.Pointer(zero)); err != nil {
			return dev.named(fmt.Errorf("memory of graphs: reset of %v: %w", a, err))
		}
	}
	return nil
}

// TrimGraphMem returns memory that graphs do not use to the device (CUDA 11.4). Memory that a
// launch allocated and left is in use. It does not disturb captures.
func (dev Device) TrimGraphMem() error {
	if err := dev.check(); err != nil {
		return err
	}
	if err := dev.driver.Guarded().CuDeviceGraphMemTrim(dev.raw); err != nil {
		return dev.named(fmt.Errorf("trim of the memory of graphs: %w", err))
	}
	return nil
}
