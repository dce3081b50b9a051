package driver

import "github.com/purecuda/cuda/internal/absent"

// nilError is the error of a method of a nil object.
func nilError(kind string) error { return absentError(true, kind) }

// absentError is the error of a call on an object that is nil, or zero because no
// constructor made it.
func absentError(isNil bool, kind string) error {
	k := absent.Kind{Name: kind, Make: makerOf(kind), Code: CUDA_ERROR_INVALID_VALUE}
	return k.Error(isNil)
}

// makerOf names the calls that create a kind of object.
func makerOf(kind string) string {
	switch kind {
	case "allocation":
		return "driver.NewAlloc"
	case "array":
		return "Context.NewArray"
	case "buffer":
		return "driver.Alloc"
	case "context":
		return "Device.PrimaryContext or Device.NewContext"
	case "copy":
		return "driver.Upload, driver.Download or driver.CopyDevice"
	case "driver":
		return "driver.Open or driver.New"
	case "event":
		return "Context.NewEvent"
	case "event operation":
		return "driver.RecordOp or driver.WaitOp"
	case "external memory":
		return "Context.ImportExternalMemory"
	case "external semaphore":
		return "Context.ImportSemaphoreFD or another Import method of Context"
	case "fill":
		return "driver.Fill"
	case "free":
		return "driver.NewFree"
	case "graph memory":
		return "driver.GraphMemoryOf"
	case "host buffer":
		return "driver.AllocHost"
	case "host function":
		return "driver.NewHostFunc"
	case "image":
		return "image.Parse"
	case "kernel":
		return "Module.Kernel"
	case "launch":
		return "Kernel.Prepare"
	case "library":
		return "Context.LoadLibrary"
	case "linker":
		return "Context.NewLinker"
	case "memory":
		return "driver.Alloc"
	case "memory operation":
		return "driver.NewMemOp"
	case "memory pool":
		return "Context.NewMemPool"
	case "module":
		return "Context.LoadModule"
	case "semaphore operation":
		return "driver.NewSemaphoreSignal or driver.NewSemaphoreWait"
	case "set of images":
		return "driver.NewImageSet"
	case "stream":
		return "Context.NewStream"
	case "user object":
		return "Context.NewUserObject"
	}
	return "its constructor"
}
