package emulator

import (
	"log/slog"

	"github.com/purecuda/cuda/driver/emulator/internal/lacking"
)

// The emulator lacks some of a device's features. The functions for such a feature return
// CUDA_ERROR_NOT_SUPPORTED, and the log names the feature.

// argumentChecks contains those missing functions that check their arguments before they fail.
var argumentChecks = map[string]func(call) result{
	"cuDeviceGetLuid":                checkLuid,
	"cuDeviceGetNvSciSyncAttributes": checkNvSciSync,
}

var refusedFunctions = functions{}

func init() {
	lacking.Each(func(symbol, feature string) {
		refusedFunctions[symbol] = function{func(c call) result {
			if check := argumentChecks[symbol]; check != nil {
				if r := check(c); r != success {
					return r
				}
			}
			return c.e.refuse(symbol, feature)
		}, afterInit}
	})
}

func checkLuid(c call) result {
	if deviceAt(c, 2) == nil {
		return errInvalidDevice
	}
	return success
}

func checkNvSciSync(c call) result {
	if c.Ptr(0) == nil {
		return errInvalidHandle
	}
	return success
}

func (e *Emulator) refuse(symbol, what string) result {
	e.log(slog.LevelWarn, "not emulated", "function", symbol, "what", what)
	e.journal.why = "the emulator has no " + what
	return errNotSupported
}

// Refused reports whether a function always returns CUDA_ERROR_NOT_SUPPORTED because the emulator
// lacks a feature. If so, the result what is the name of the feature. symbol is a name that
// Lookup accepts. docs/emulator-functions.md lists all functions.
func Refused(symbol string) (what string, refused bool) {
	return lacking.Of(symbol)
}

// The following functions query features that no object in the emulator has. They return what the
// driver returns for an object without the feature.

var withoutFunctions = functions{
	"cuArrayGetMemoryRequirements": {invalidValue, current},
	"cuArrayGetSparseProperties":   {invalidValue, current},
	"cuArrayGetPlane":              {invalidValue, current},
	"cuModuleGetTexRef":            {cuModuleGetTexRef, current},
	"cuModuleGetSurfRef":           {cuModuleGetTexRef, current},
	"cuLibraryGetUnifiedFunction":  {cuLibraryGetUnifiedFunction, current},
	// No stream belongs to a green context.
	"cuStreamGetGreenCtx": {query(streamAt, 0, 1, func(*stream) uintptr { return 0 }), afterInit},
	"cuCtxAttach":         {cuCtxAttach, afterInit},
	"cuCtxDetach":         {cuCtxDetach, afterInit},
}

// invalidValue implements queries about sparse arrays and about arrays with deferred mapping. The
// emulator has no such arrays.
func invalidValue(call) result { return errInvalidValue }

// cuModuleGetTexRef never finds a reference: PTX with texture or surface references is rejected
// when it is loaded.
func cuModuleGetTexRef(c call) result {
	_, ok := c.text(2)
	switch {
	case c.Ptr(0) == nil || !ok:
		return errInvalidValue
	case handleAt[module](c, 1) == nil:
		return errInvalidHandle
	}
	return errNotFound
}

// cuLibraryGetUnifiedFunction always fails, because no device function has a host counterpart.
func cuLibraryGetUnifiedFunction(c call) result {
	if handleAt[library](c, 1) == nil {
		return errInvalidHandle
	}
	return errInvalidValue
}

// cuCtxAttach adds a reference to the current context, which cuCtxDetach removes.
func cuCtxAttach(c call) result {
	switch {
	case c.Ptr(0) == nil || c.Uint32(1) != 0:
		return errInvalidValue
	case c.ctx == nil:
		return errInvalidContext
	}
	if r := c.ctx.usable(); r != success {
		return r
	}
	c.ctx.attached++
	return put(c, 0, c.ctx.handle)
}

// cuCtxDetach undoes one cuCtxAttach. If there is none left to undo, it destroys the context.
func cuCtxDetach(c call) result {
	ctx := handleAt[cudaContext](c, 0)
	switch {
	case ctx == nil || ctx != c.ctx:
		return errInvalidContext
	case ctx.attached > 0:
		ctx.attached--
		return success
	}
	return cuCtxDestroy(c)
}
