package driver

import (
	"fmt"
	"runtime"
	"unicode/utf16"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// ExternalSemaphore is a semaphore, fence or keyed mutex of another API (Vulkan, Direct3D, NvSci)
// that the device can signal and wait for. CUDA cannot create one: import a handle that the other
// API exported. Drivers support them since CUDA 10.0, timeline semaphores since 11.2.
type ExternalSemaphore struct {
	life *life.Lifetime
	ctx  *Context
	raw  CUexternalSemaphore
	kind cu.CUexternalSemaphoreHandleType
}

// ImportSemaphoreFD imports a semaphore from a file descriptor of type
// CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD or _TIMELINE_SEMAPHORE_FD (Linux). On success the
// driver owns the descriptor: the program must not use or close it any more. On error the program
// still owns it.
func (c *Context) ImportSemaphoreFD(kind cu.CUexternalSemaphoreHandleType, fd int) (*ExternalSemaphore, error) {
	if c == nil || c.core == nil {
		return nil, absentError(c == nil, "context")
	}
	switch kind {
	case cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD:
	default:
		return nil, invalidf("external semaphores of type %v are not imported by a file descriptor", kind)
	}
	if fd < 0 || int(int32(fd)) != fd {
		return nil, invalidf("cannot import an external semaphore: %d is no file descriptor", fd)
	}
	d := cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC{Type: kind}
	*d.Handle.Fd() = int32(fd)
	return c.importSemaphore(&d, fmt.Sprintf("file descriptor %d", fd))
}

// ImportSemaphoreHandle imports a semaphore from an NT handle or a globally shared (KMT) handle of
// one of the Win32 and Direct3D types (Windows). The program still owns the handle. It may close an
// NT handle after the import.
func (c *Context) ImportSemaphoreHandle(kind cu.CUexternalSemaphoreHandleType, handle uintptr) (*ExternalSemaphore, error) {
	if c == nil || c.core == nil {
		return nil, absentError(c == nil, "context")
	}
	if err := win32Semaphore(kind); err != nil {
		return nil, err
	}
	if handle == 0 {
		return nil, invalidf("cannot import an external semaphore: the handle is 0")
	}
	d := cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC{Type: kind}
	*(*uintptr)(unsafe.Pointer(&d.Handle)) = handle
	return c.importSemaphore(&d, fmt.Sprintf("handle %#x", handle))
}

// ImportSemaphoreName imports a semaphore by the name that it was created with, of one of the Win32
// and Direct3D types with NT handles (Windows).
func (c *Context) ImportSemaphoreName(kind cu.CUexternalSemaphoreHandleType, name string) (*ExternalSemaphore, error) {
	if c == nil || c.core == nil {
		return nil, absentError(c == nil, "context")
	}
	if err := win32Semaphore(kind); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, invalidf("cannot import an external semaphore: the name is empty")
	}
	wide := utf16.Encode([]rune(name + "\x00"))
	var pin runtime.Pinner // the descriptor does not show the collector what it points at
	defer pin.Unpin()
	pin.Pin(&wide[0])
	d := cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC{Type: kind}
	d.Handle.Win32().Name = unsafe.Pointer(&wide[0])
	return c.importSemaphore(&d, fmt.Sprintf("name %q", name))
}

func win32Semaphore(kind cu.CUexternalSemaphoreHandleType) error {
	switch kind {
	case cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32, cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT,
		cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE, cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_FENCE,
		cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX, cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX_KMT,
		cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32:
		return nil
	}
	return invalidf("external semaphores of type %v are not imported by a Windows handle", kind)
}

// ImportSemaphoreNvSci imports an NvSciSyncObj, which must outlive the semaphore (Tegra and DRIVE
// systems).
func (c *Context) ImportSemaphoreNvSci(object unsafe.Pointer) (*ExternalSemaphore, error) {
	if c == nil || c.core == nil {
		return nil, absentError(c == nil, "context")
	}
	if object == nil {
		return nil, invalidf("cannot import an external semaphore: the NvSciSyncObj is nil")
	}
	d := cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC{Type: cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC}
	*d.Handle.NvSciSyncObj() = object
	return c.importSemaphore(&d, "an NvSciSyncObj")
}

func (c *Context) importSemaphore(d *cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, by string) (*ExternalSemaphore, error) {
	l, err := newLifetime(c, "external semaphore")
	if err != nil {
		return nil, err
	}
	s := &ExternalSemaphore{life: l, ctx: c, kind: d.Type}
	if err := c.core.bound.CuImportExternalSemaphore(&s.raw, d); err != nil {
		return nil, l.Abandon(fmt.Errorf("import by %s as %v, which must be a handle that another API exported for this device: %w", by, d.Type, err))
	}
	raw := s.raw
	life.Own(s, l, uint64(raw), func(d *cu.Driver) error { return d.CuDestroyExternalSemaphore(raw) })
	return s, nil
}

// Raw returns the driver's handle, 0 for nil.
func (s *ExternalSemaphore) Raw() CUexternalSemaphore {
	if s == nil {
		return 0
	}
	return s.raw
}

// Kind returns the handle type that it was imported from.
func (s *ExternalSemaphore) Kind() cu.CUexternalSemaphoreHandleType {
	if s == nil {
		return 0
	}
	return s.kind
}

// Context returns the context that it was imported into.
func (s *ExternalSemaphore) Context() *Context {
	if s == nil {
		return nil
	}
	return s.ctx
}

// Lifetime returns the semaphore's ownership record.
func (s *ExternalSemaphore) Lifetime() *life.Lifetime {
	if s == nil {
		return nil
	}
	return s.life
}

// String describes the semaphore and its kind.
func (s *ExternalSemaphore) String() string {
	if s == nil {
		return "nil external semaphore"
	}
	return fmt.Sprintf("%v (%v)", s.life, s.kind)
}

// Close releases the imported semaphore. It does not affect the other API's semaphore. Work that
// uses it must be done. A graph that refers to it delays the release.
func (s *ExternalSemaphore) Close() error {
	if s == nil {
		return nil
	}
	err := s.life.Close()
	runtime.KeepAlive(s)
	return err
}
