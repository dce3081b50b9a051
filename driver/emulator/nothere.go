package emulator

// Functions that ask for what no object of the emulator has: they answer as a
// driver does for an object without it.

var withoutFunctions = functions{
	"cuArrayGetMemoryRequirements": {never, current},
	"cuArrayGetSparseProperties":   {never, current},
	"cuArrayGetPlane":              {never, current},
	"cuModuleGetTexRef":            {cuModuleGetTexRef, current},
	"cuModuleGetSurfRef":           {cuModuleGetTexRef, current},
	"cuLibraryGetUnifiedFunction":  {cuLibraryGetUnifiedFunction, current},
	"cuStreamGetGreenCtx":          {cuStreamGetGreenCtx, afterInit},
	"cuCtxAttach":                  {cuCtxAttach, afterInit},
	"cuCtxDetach":                  {cuCtxDetach, afterInit},
}

// never is what sparse arrays, and those whose memory comes later, can be asked:
// an array here is neither.
func never(call) result { return errInvalidValue }

// cuModuleGetTexRef: PTX with texture or surface references is refused when it
// is loaded, so no module has any.
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

// cuLibraryGetUnifiedFunction: code for a device is none for the host.
func cuLibraryGetUnifiedFunction(c call) result {
	if handleAt[library](c, 1) == nil {
		return errInvalidHandle
	}
	return errInvalidValue
}

// cuStreamGetGreenCtx: no stream is of a green context.
func cuStreamGetGreenCtx(c call) result {
	if _, r := streamAt(c, 0); r != success {
		return r
	}
	return put(c, 1, uintptr(0))
}

// cuCtxAttach counts users of the current context, which cuCtxDetach takes away.
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

// cuCtxDetach ends a context that nobody uses any more.
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
