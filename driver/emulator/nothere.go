package emulator

// Functions about features that no object of the emulator has. They return what a driver returns
// for an object without the feature.

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

// never is for queries about sparse and deferred-mapping arrays. An array here is neither.
func never(call) result { return errInvalidValue }

// cuModuleGetTexRef: PTX with texture or surface references is rejected when it is loaded, so no
// module has any.
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

// cuLibraryGetUnifiedFunction: device code has no function for the host.
func cuLibraryGetUnifiedFunction(c call) result {
	if handleAt[library](c, 1) == nil {
		return errInvalidHandle
	}
	return errInvalidValue
}

// cuStreamGetGreenCtx: no stream belongs to a green context.
func cuStreamGetGreenCtx(c call) result {
	if _, r := streamAt(c, 0); r != success {
		return r
	}
	return put(c, 1, uintptr(0))
}

// cuCtxAttach adds a user of the current context, which cuCtxDetach removes.
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

// cuCtxDetach undoes one cuCtxAttach. If there is none to undo, it destroys the context.
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
