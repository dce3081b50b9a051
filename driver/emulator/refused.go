package emulator

import "log/slog"

// A device has features that the emulator lacks. Functions of such features return
// CUDA_ERROR_NOT_SUPPORTED, and the log says what is missing.

// missingFeature is a feature that is not emulated, with the functions that belong to it.
type missingFeature struct {
	what    string
	symbols []string
}

var missingFeatures = []missingFeature{
	{"textures and surfaces", []string{
		"cuTexObjectCreate", "cuTexObjectDestroy", "cuTexObjectGetResourceDesc", "cuTexObjectGetResourceViewDesc", "cuTexObjectGetTextureDesc",
		"cuSurfObjectCreate", "cuSurfObjectDestroy", "cuSurfObjectGetResourceDesc",
		"cuTexRefCreate", "cuTexRefDestroy", "cuTexRefGetAddressMode", "cuTexRefGetAddress_v2", "cuTexRefGetArray", "cuTexRefGetBorderColor",
		"cuTexRefGetFilterMode", "cuTexRefGetFlags", "cuTexRefGetFormat", "cuTexRefGetMaxAnisotropy", "cuTexRefGetMipmapFilterMode",
		"cuTexRefGetMipmapLevelBias", "cuTexRefGetMipmapLevelClamp", "cuTexRefGetMipmappedArray",
		"cuTexRefSetAddress2D_v3", "cuTexRefSetAddressMode", "cuTexRefSetAddress_v2", "cuTexRefSetArray", "cuTexRefSetBorderColor",
		"cuTexRefSetFilterMode", "cuTexRefSetFlags", "cuTexRefSetFormat", "cuTexRefSetMaxAnisotropy", "cuTexRefSetMipmapFilterMode",
		"cuTexRefSetMipmapLevelBias", "cuTexRefSetMipmapLevelClamp", "cuTexRefSetMipmappedArray",
		"cuSurfRefGetArray", "cuSurfRefSetArray", "cuParamSetTexRef",
	}},
	{"mipmapped arrays, which only textures read", []string{
		"cuMipmappedArrayCreate", "cuMipmappedArrayDestroy", "cuMipmappedArrayGetLevel",
		"cuMipmappedArrayGetMemoryRequirements", "cuMipmappedArrayGetSparseProperties",
	}},
	{"sparse arrays", []string{"cuMemMapArrayAsync"}},
	{"tensor maps, whose contents are the hardware's", []string{
		"cuTensorMapEncodeIm2col", "cuTensorMapEncodeIm2colWide", "cuTensorMapEncodeTiled", "cuTensorMapReplaceAddress",
	}},
	{"memory and events of other processes", []string{
		"cuIpcCloseMemHandle", "cuIpcGetEventHandle", "cuIpcGetMemHandle", "cuIpcOpenEventHandle", "cuIpcOpenMemHandle_v2",
		"cuMemExportToShareableHandle", "cuMemImportFromShareableHandle", "cuMemGetHandleForAddressRange",
		"cuMemPoolExportPointer", "cuMemPoolExportToShareableHandle", "cuMemPoolImportFromShareableHandle", "cuMemPoolImportPointer",
	}},
	{"memory of other APIs", []string{
		"cuImportExternalMemory", "cuDestroyExternalMemory", "cuExternalMemoryGetMappedBuffer", "cuExternalMemoryGetMappedMipmappedArray",
		"cuGraphicsMapResources", "cuGraphicsResourceGetMappedMipmappedArray", "cuGraphicsResourceGetMappedPointer_v2",
		"cuGraphicsResourceSetMapFlags_v2", "cuGraphicsSubResourceGetMappedArray", "cuGraphicsUnmapResources", "cuGraphicsUnregisterResource",
	}},
	{"multicast between devices", []string{
		"cuMulticastAddDevice", "cuMulticastBindAddr", "cuMulticastBindMem", "cuMulticastCreate", "cuMulticastGetGranularity", "cuMulticastUnbind",
	}},
	{"parts of a device and green contexts", []string{
		"cuCtxFromGreenCtx", "cuCtxGetDevResource", "cuDevResourceGenerateDesc", "cuDevSmResourceSplitByCount", "cuDeviceGetDevResource",
		"cuGreenCtxCreate", "cuGreenCtxDestroy", "cuGreenCtxGetDevResource", "cuGreenCtxGetId", "cuGreenCtxRecordEvent",
		"cuGreenCtxStreamCreate", "cuGreenCtxWaitEvent",
	}},
	{"checkpoints of processes", []string{
		"cuCheckpointProcessCheckpoint", "cuCheckpointProcessGetRestoreThreadId", "cuCheckpointProcessGetState",
		"cuCheckpointProcessLock", "cuCheckpointProcessRestore", "cuCheckpointProcessUnlock",
	}},
	{"stream memory operations of the first version, which the device's attributes say it lacks", []string{
		"cuStreamBatchMemOp", "cuStreamWaitValue32", "cuStreamWaitValue64", "cuStreamWriteValue32", "cuStreamWriteValue64",
	}},
	{"launches on several devices at a time, which the device's attributes say it lacks", []string{"cuLaunchCooperativeKernelMultiDevice"}},
	{"decompression by hardware, which the device's attributes say it lacks", []string{"cuMemBatchDecompressAsync"}},
	{"settings of the profiler, which CUDA 12 took away", []string{"cuProfilerInitialize"}},
	{"private interfaces, which have no documents", []string{"cuGetExportTable"}},
	{"LUIDs, which devices have on Windows only", []string{"cuDeviceGetLuid"}},
	{"NvSciSync, which embedded systems have", []string{"cuDeviceGetNvSciSyncAttributes"}},
}

// argumentChecks is for the missing functions that check their arguments before anything else.
var argumentChecks = map[string]func(call) result{
	"cuDeviceGetLuid":                checkLuid,
	"cuDeviceGetNvSciSyncAttributes": checkNvSciSync,
}

// refusedFunctions are the functions of missingFeatures. missingOf maps each function to the part that
// is missing.
var (
	refusedFunctions = functions{}
	missingOf        = make(map[string]string)
)

func init() {
	for _, part := range missingFeatures {
		for _, symbol := range part.symbols {
			missingOf[symbol] = part.what
			refusedFunctions[symbol] = function{func(c call) result { return part.refuse(c, symbol) }, afterInit}
		}
	}
}

func (p *missingFeature) refuse(c call, symbol string) result {
	if check := argumentChecks[symbol]; check != nil {
		if r := check(c); r != success {
			return r
		}
	}
	return c.e.refuse(symbol, p.what)
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

// refuse logs what is missing and returns CUDA_ERROR_NOT_SUPPORTED.
func (e *Emulator) refuse(symbol, what string) result {
	e.log(slog.LevelWarn, "not emulated", "function", symbol, "what", what)
	e.journal.why = "the emulator has no " + what
	return errNotSupported
}

// Refused reports whether a function exists only to return CUDA_ERROR_NOT_SUPPORTED, and which
// missing feature it belongs to. The symbol is the one that Lookup takes.
// docs/emulator-functions.md lists all functions.
func Refused(symbol string) (what string, refused bool) {
	what, refused = missingOf[symbol]
	return what, refused
}

// Functions about features that no object of the emulator has. They return what a driver returns
// for an object without the feature.

var withoutFunctions = functions{
	"cuArrayGetMemoryRequirements": {invalidValue, current},
	"cuArrayGetSparseProperties":   {invalidValue, current},
	"cuArrayGetPlane":              {invalidValue, current},
	"cuModuleGetTexRef":            {cuModuleGetTexRef, current},
	"cuModuleGetSurfRef":           {cuModuleGetTexRef, current},
	"cuLibraryGetUnifiedFunction":  {cuLibraryGetUnifiedFunction, current},
	"cuStreamGetGreenCtx":          {cuStreamGetGreenCtx, afterInit},
	"cuCtxAttach":                  {cuCtxAttach, afterInit},
	"cuCtxDetach":                  {cuCtxDetach, afterInit},
}

// invalidValue is for queries about sparse and deferred-mapping arrays. An array here is neither.
func invalidValue(call) result { return errInvalidValue }

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
