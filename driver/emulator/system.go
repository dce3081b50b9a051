package emulator

import (
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

var systemFunctions = functions{
	"cuInit":                 {cuInit, anywhere},
	"cuDriverGetVersion":     {cuDriverGetVersion, anywhere},
	"cuGetErrorName":         {cuGetErrorName, anywhere},
	"cuGetErrorString":       {cuGetErrorString, anywhere},
	"cuGetProcAddress":       {cuGetProcAddress, anywhere},
	"cuGetProcAddress_v2":    {cuGetProcAddress, anywhere},
	"cuProfilerStart":        {nothing, current},
	"cuProfilerStop":         {nothing, current},
	"cuModuleGetLoadingMode": {cuModuleGetLoadingMode, afterInit},
}

// nothing implements functions that have no effect here.
func nothing(call) result { return success }

func cuInit(c call) result {
	switch {
	case c.e.closed:
		return errDeinitialized
	case c.Uint32(0) != 0:
		return errInvalidValue
	case len(c.e.devices) == 0:
		return errNoDevice
	}
	c.e.initialized = true
	return success
}

func cuDriverGetVersion(c call) result { return put(c, 0, int32(c.e.cfg.DriverVersion)) }

func cuGetErrorName(c call) result {
	return errorText(c, cu.CUresult.String)
}

func cuGetErrorString(c call) result {
	return errorText(c, func(r cu.CUresult) string { return r.Error() })
}

// errorText stores a text about a result code. Unknown codes have none.
func errorText(c call, say func(cu.CUresult) string) result {
	out := at[*byte](c, 1)
	if out == nil {
		return errInvalidValue
	}
	*out = nil
	r := result(c.Uint32(0))
	if !knownResult(r) {
		return errInvalidValue
	}
	*out = c.e.cString(say(r))
	return success
}

// cuGetProcAddress cannot return addresses, because the functions are Go functions.
func cuGetProcAddress(c call) result {
	if _, ok := c.text(0); !ok {
		return errInvalidValue
	}
	if r := put[unsafe.Pointer](c, 1, nil); r != success {
		return r
	}
	if c.Len() > 4 && c.Ptr(4) != nil {
		*at[cu.CUdriverProcAddressQueryResult](c, 4) = cu.CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
		return success
	}
	return errNotFound
}

func cuModuleGetLoadingMode(c call) result {
	return put(c, 0, cu.CU_MODULE_LAZY_LOADING)
}

// knownResult reports whether a code is one of the driver's.
func knownResult(r cu.CUresult) bool { return !strings.HasPrefix(r.String(), "CUresult(") }
