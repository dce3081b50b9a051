// Package lacking lists the driver functions that belong to features the emulator does not
// implement.
package lacking

type feature struct {
	what    string
	symbols []string
}

var features = []feature{
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
	{"mipmapped arrays, which only textures can read", []string{
		"cuMipmappedArrayCreate", "cuMipmappedArrayDestroy", "cuMipmappedArrayGetLevel",
		"cuMipmappedArrayGetMemoryRequirements", "cuMipmappedArrayGetSparseProperties",
	}},
	{"sparse arrays", []string{"cuMemMapArrayAsync"}},
	{"tensor maps, whose format is private to the hardware", []string{
		"cuTensorMapEncodeIm2col", "cuTensorMapEncodeIm2colWide", "cuTensorMapEncodeTiled", "cuTensorMapReplaceAddress",
	}},
	{"memory and events shared between processes", []string{
		"cuIpcCloseMemHandle", "cuIpcGetEventHandle", "cuIpcGetMemHandle", "cuIpcOpenEventHandle", "cuIpcOpenMemHandle_v2",
		"cuMemExportToShareableHandle", "cuMemImportFromShareableHandle", "cuMemGetHandleForAddressRange",
		"cuMemPoolExportPointer", "cuMemPoolExportToShareableHandle", "cuMemPoolImportFromShareableHandle", "cuMemPoolImportPointer",
	}},
	{"external memory and graphics resources", []string{
		"cuImportExternalMemory", "cuDestroyExternalMemory", "cuExternalMemoryGetMappedBuffer", "cuExternalMemoryGetMappedMipmappedArray",
		"cuGraphicsMapResources", "cuGraphicsResourceGetMappedMipmappedArray", "cuGraphicsResourceGetMappedPointer_v2",
		"cuGraphicsResourceSetMapFlags_v2", "cuGraphicsSubResourceGetMappedArray", "cuGraphicsUnmapResources", "cuGraphicsUnregisterResource",
	}},
	{"multicast between devices", []string{
		"cuMulticastAddDevice", "cuMulticastBindAddr", "cuMulticastBindMem", "cuMulticastCreate", "cuMulticastGetGranularity", "cuMulticastUnbind",
	}},
	{"device resources and green contexts", []string{
		"cuCtxFromGreenCtx", "cuCtxGetDevResource", "cuDevResourceGenerateDesc", "cuDevSmResourceSplitByCount", "cuDeviceGetDevResource",
		"cuGreenCtxCreate", "cuGreenCtxDestroy", "cuGreenCtxGetDevResource", "cuGreenCtxGetId", "cuGreenCtxRecordEvent",
		"cuGreenCtxStreamCreate", "cuGreenCtxWaitEvent",
	}},
	{"process checkpoints", []string{
		"cuCheckpointProcessCheckpoint", "cuCheckpointProcessGetRestoreThreadId", "cuCheckpointProcessGetState",
		"cuCheckpointProcessLock", "cuCheckpointProcessRestore", "cuCheckpointProcessUnlock",
	}},
	{"the first version of stream memory operations, which the device's attributes rule out", []string{
		"cuStreamBatchMemOp", "cuStreamWaitValue32", "cuStreamWaitValue64", "cuStreamWriteValue32", "cuStreamWriteValue64",
	}},
	{"launches on several devices at once, which the device's attributes rule out", []string{"cuLaunchCooperativeKernelMultiDevice"}},
	{"hardware decompression, which the device's attributes rule out", []string{"cuMemBatchDecompressAsync"}},
	{"profiler settings, which CUDA 12 removed", []string{"cuProfilerInitialize"}},
	{"private interfaces, which are undocumented", []string{"cuGetExportTable"}},
	{"LUIDs, which exist only on Windows", []string{"cuDeviceGetLuid"}},
	{"NvSciSync, which exists only on embedded systems", []string{"cuDeviceGetNvSciSyncAttributes"}},
}

var what = func() map[string]string {
	m := make(map[string]string)
	for _, f := range features {
		for _, symbol := range f.symbols {
			m[symbol] = f.what
		}
	}
	return m
}()

// Of returns the feature that a function belongs to. If the function is not listed, ok is false.
func Of(symbol string) (feature string, ok bool) {
	feature, ok = what[symbol]
	return feature, ok
}

// Each calls f for each listed function.
func Each(f func(symbol, feature string)) {
	for symbol, feature := range what {
		f(symbol, feature)
	}
}
