// Package vulkantest creates external semaphores for tests: timeline semaphores of NVIDIA's Vulkan
// driver, exported as file descriptors. It opens the driver at run time and uses no other part of
// Vulkan. It imports only package loader.
//
// Names and layouts: https://registry.khronos.org/vulkan/specs/latest/html/vkspec.html
package vulkantest

//lint:file-ignore U1000 C reads the fields of these structures

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/loader"
)

// library is NVIDIA's Vulkan driver for machines without a display. It does not need the Vulkan
// loader.
const library = "libEGL_nvidia.so.0"

// Device is a logical device.
type Device struct {
	lib      *loader.DynamicLibrary
	get      loader.Proc // vk_icdGetInstanceProcAddr
	instance uintptr
	device   uintptr
}

// The Vulkan structures that the package uses.
type (
	applicationInfo struct {
		sType         uint32
		next          unsafe.Pointer
		name          *byte
		version       uint32
		engine        *byte
		engineVersion uint32
		apiVersion    uint32
	}
	instanceCreateInfo struct {
		sType          uint32
		next           unsafe.Pointer
		flags          uint32
		application    *applicationInfo
		layerCount     uint32
		layers         unsafe.Pointer
		extensionCount uint32
		extensions     unsafe.Pointer
	}
	queueCreateInfo struct {
		sType      uint32
		next       unsafe.Pointer
		flags      uint32
		family     uint32
		count      uint32
		priorities *float32
	}
	timelineFeatures struct {
		sType   uint32
		next    unsafe.Pointer
		enabled uint32
	}
	deviceCreateInfo struct {
		sType          uint32
		next           *timelineFeatures
		flags          uint32
		queueCount     uint32
		queues         *queueCreateInfo
		layerCount     uint32
		layers         unsafe.Pointer
		extensionCount uint32
		extensions     **byte
		features       unsafe.Pointer
	}
	exportInfo struct {
		sType   uint32
		next    *typeInfo
		handles uint32
	}
	typeInfo struct {
		sType   uint32
		next    unsafe.Pointer
		kind    uint32
		initial uint64
	}
	semaphoreCreateInfo struct {
		sType uint32
		next  *exportInfo
		flags uint32
	}
	getFDInfo struct {
		sType     uint32
		next      unsafe.Pointer
		semaphore uint64
		handle    uint32
	}
	signalInfo struct {
		sType     uint32
		next      unsafe.Pointer
		semaphore uint64
		value     uint64
	}
)

const (
	typeApplication = 0
	typeInstance    = 1
	typeQueue       = 2
	typeDevice      = 3
	typeSemaphore   = 9
	typeTimeline    = 1000207000
	typeSemKind     = 1000207002
	typeSignal      = 1000207005
	typeExport      = 1000077000
	typeGetFD       = 1000079001

	timelineKind = 1
	opaqueFD     = 1
	version12    = 1<<22 | 2<<12
)

// Open opens the Vulkan driver and its first device.
func Open() (*Device, error) {
	lib, err := loader.Open(library)
	if err != nil {
		return nil, err
	}
	d := &Device{lib: lib}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Device) open() (err error) {
	negotiate, err := d.lib.Lookup("vk_icdNegotiateLoaderICDInterfaceVersion")
	if err != nil {
		return err
	}
	interfaceVersion := uint32(5)
	if r := int32(negotiate.Call(word(&interfaceVersion))); r != 0 {
		return fmt.Errorf("vk_icdNegotiateLoaderICDInterfaceVersion: %d", r)
	}
	if d.get, err = d.lib.Lookup("vk_icdGetInstanceProcAddr"); err != nil {
		return err
	}
	if err := d.createInstance(); err != nil {
		return err
	}
	return d.createDevice()
}

// escaped forces values whose address is passed to C onto the heap, where they do not move.
var escaped any

// word returns the address of p as an argument for C. The caller must keep *p reachable.
func word[T any](p *T) uintptr {
	escaped = p
	return uintptr(unsafe.Pointer(p))
}

// call calls a Vulkan function by name and converts its VkResult to an error.
func (d *Device) call(name string, words ...uintptr) error {
	c := append([]byte(name), 0)
	addr := d.get.Call(d.instance, word(&c[0]))
	runtime.KeepAlive(c)
	if addr == 0 {
		return fmt.Errorf("%s is not in the Vulkan driver", name)
	}
	p := loader.AddrProc(addr)
	if r := int32(p.Call(words...)); r < 0 {
		return fmt.Errorf("%s: VkResult %d", name, r)
	}
	return nil
}

func (d *Device) createInstance() error {
	app := &applicationInfo{sType: typeApplication, apiVersion: version12}
	info := &instanceCreateInfo{sType: typeInstance, application: app}
	out := new(uintptr)
	err := d.call("vkCreateInstance", word(info), 0, word(out))
	runtime.KeepAlive(app)
	runtime.KeepAlive(info)
	d.instance = *out
	return err
}

func (d *Device) createDevice() error {
	count, physical := new(uint32), new(uintptr)
	*count = 1
	err := d.call("vkEnumeratePhysicalDevices", d.instance, word(count), word(physical))
	if err != nil {
		return err
	}
	if *count == 0 {
		return errors.New("no Vulkan device")
	}
	priority := float32(1)
	extension := append([]byte("VK_KHR_external_semaphore_fd"), 0)
	name := &extension[0]
	queue := &queueCreateInfo{sType: typeQueue, count: 1, priorities: &priority}
	info := &deviceCreateInfo{
		sType: typeDevice, next: &timelineFeatures{sType: typeTimeline, enabled: 1},
		queueCount: 1, queues: queue, extensionCount: 1, extensions: &name,
	}
	out := new(uintptr)
	err = d.call("vkCreateDevice", *physical, word(info), 0, word(out))
	runtime.KeepAlive(info)
	d.device = *out
	return err
}

// Close destroys the device. All its semaphores must be closed first.
func (d *Device) Close() error {
	var errs []error
	if d.device != 0 {
		errs = append(errs, d.call("vkDestroyDevice", d.device, 0))
	}
	if d.instance != 0 {
		errs = append(errs, d.call("vkDestroyInstance", d.instance, 0))
	}
	return errors.Join(append(errs, d.lib.Close())...)
}

// Semaphore is a timeline semaphore, whose value can only increase.
type Semaphore struct {
	d   *Device
	raw uint64
}

// NewSemaphore creates an exportable semaphore with value 0.
func (d *Device) NewSemaphore() (*Semaphore, error) {
	kind := &typeInfo{sType: typeSemKind, kind: timelineKind}
	export := &exportInfo{sType: typeExport, next: kind, handles: opaqueFD}
	info := &semaphoreCreateInfo{sType: typeSemaphore, next: export}
	s := &Semaphore{d: d}
	err := d.call("vkCreateSemaphore", d.device, word(info), 0, word(&s.raw))
	runtime.KeepAlive(info)
	return s, err
}

// FD exports the semaphore. The caller owns the file descriptor until CUDA imports it. From then
// on, CUDA owns it.
func (s *Semaphore) FD() (int, error) {
	info := &getFDInfo{sType: typeGetFD, semaphore: s.raw, handle: opaqueFD}
	fd := new(int32)
	err := s.d.call("vkGetSemaphoreFdKHR", s.d.device, word(info), word(fd))
	runtime.KeepAlive(info)
	return int(*fd), err
}

// Value returns the semaphore's current value.
func (s *Semaphore) Value() (uint64, error) {
	v := new(uint64)
	err := s.d.call("vkGetSemaphoreCounterValue", s.d.device, uintptr(s.raw), word(v))
	return *v, err
}

// Signal sets the semaphore's value from the host.
func (s *Semaphore) Signal(v uint64) error {
	info := &signalInfo{sType: typeSignal, semaphore: s.raw, value: v}
	err := s.d.call("vkSignalSemaphore", s.d.device, word(info))
	runtime.KeepAlive(info)
	return err
}

// Close destroys the semaphore.
func (s *Semaphore) Close() error {
	return s.d.call("vkDestroySemaphore", s.d.device, uintptr(s.raw), 0)
}
