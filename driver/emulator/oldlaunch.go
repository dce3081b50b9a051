package emulator

import (
	"encoding/binary"
	"unsafe"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// The launches of CUDA before 4.0: block, shared memory and parameters are state of the function.

// oldLaunch is that state.
type oldLaunch struct {
	block  vm.Dim3
	shared uint32
	size   uint32 // of the parameters
	params [oldParameters]byte
}

// oldParameters is the size of the parameter buffer.
const oldParameters = 4096

var oldLaunchFunctions = functions{
	"cuFuncSetBlockShape": {cuFuncSetBlockShape, current},
	"cuFuncSetSharedSize": {cuFuncSetSharedSize, current},
	"cuParamSetSize":      {cuParamSetSize, current},
	"cuParamSeti":         {cuParamSeti, current},
	"cuParamSetf":         {cuParamSeti, current}, // the same bits
	"cuParamSetv":         {cuParamSetv, current},
	"cuLaunch":            {cuLaunch, current},
	"cuLaunchGrid":        {cuLaunchGrid, current},
	"cuLaunchGridAsync":   {cuLaunchGridAsync, current},
}

// oldAt returns the function of argument 0 with its state.
func oldAt(c call) (*kernelFunc, *oldLaunch, result) {
	f, r := functionAt(c, 0)
	if r != success {
		return nil, nil, r
	}
	if f.old == nil {
		f.old = &oldLaunch{block: vm.Dim3{X: 1, Y: 1, Z: 1}}
	}
	return f, f.old, success
}

func cuFuncSetBlockShape(c call) result {
	f, old, r := oldAt(c)
	if r != success {
		return r
	}
	n := kernelNode{fn: f, grid: vm.Dim3{X: 1, Y: 1, Z: 1}, block: vm.Dim3{X: c.Uint32(1), Y: c.Uint32(2), Z: c.Uint32(3)}}
	if r := n.check(); r != success {
		return r
	}
	old.block = n.block
	return success
}

func cuFuncSetSharedSize(c call) result {
	f, old, r := oldAt(c)
	switch {
	case r != success:
		return r
	case int64(c.Uint32(1)) > int64(f.settings.maxDynamicShared):
		return errInvalidValue
	}
	old.shared = c.Uint32(1)
	return success
}

func cuParamSetSize(c call) result {
	_, old, r := oldAt(c)
	switch {
	case r != success:
		return r
	case c.Uint32(1) > oldParameters:
		return errInvalidValue
	}
	old.size = c.Uint32(1)
	return success
}

// bytes returns the parameter buffer's n bytes at the offset in argument 1.
func (old *oldLaunch) bytes(c call, n uint64) ([]byte, result) {
	at := int64(c.Int32(1))
	if at < 0 || uint64(at)+n > oldParameters {
		return nil, errInvalidValue
	}
	return old.params[at : uint64(at)+n], success
}

func cuParamSeti(c call) result {
	_, old, r := oldAt(c)
	if r != success {
		return r
	}
	b, r := old.bytes(c, 4)
	if r != success {
		return r
	}
	binary.LittleEndian.PutUint32(b, c.Uint32(2))
	return success
}

func cuParamSetv(c call) result {
	_, old, r := oldAt(c)
	if r != success {
		return r
	}
	n := c.Uint32(3)
	b, r := old.bytes(c, uint64(n))
	switch {
	case r != success:
		return r
	case c.Ptr(2) == nil:
		return errInvalidValue
	}
	copy(b, unsafe.Slice((*byte)(c.Ptr(2)), n))
	return success
}

func cuLaunch(c call) result { return launchOld(c, 1, 1, 0) }

func cuLaunchGrid(c call) result { return launchOld(c, c.Int32(1), c.Int32(2), 0) }

func cuLaunchGridAsync(c call) result {
	return launchOld(c, c.Int32(1), c.Int32(2), c.Word(3))
}

// launchOld launches with the function's state.
func launchOld(c call, width, height int32, stream uintptr) result {
	f, old, r := oldAt(c)
	switch {
	case r != success:
		return r
	case width <= 0 || height <= 0:
		return errInvalidValue
	}
	spec := launchSpec{
		fn: f.handle, block: old.block, shared: old.shared, packed: old.params[:old.size],
		grid: vm.Dim3{X: uint32(width), Y: uint32(height), Z: 1},
	}
	return launch(c, stream, &spec, launchAttrs{})
}
