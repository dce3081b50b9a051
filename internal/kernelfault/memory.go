package kernelfault

import (
	"errors"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// memory is the page-locked memory of a context: the summary word, the slots and a staging area for
// copies. It has its own stream, because copies in the legacy stream would wait for work in
// blocking streams and would invalidate their captures.
type memory struct {
	pages   []unsafe.Pointer
	spare   []place // unused slots
	summary place
	stage   unsafe.Pointer
	stream  cu.CUstream
}

// place is an address in mapped memory, for the host and for the device.
type place struct {
	host   unsafe.Pointer
	device cu.CUdeviceptr
}

const (
	pageBytes  = 4096
	stageBytes = 1024 // the staging area, at the end of the first page
	maxText    = 64 << 10
)

// take returns an unused slot. If there is none, it allocates a page.
func (m *memory) take(d *cu.Driver) (place, error) {
	if m.stream == 0 {
		if err := d.CuStreamCreate(&m.stream, uint32(cu.CU_STREAM_NON_BLOCKING)); err != nil {
			m.stream = 0
			return place{}, err
		}
	}
	if len(m.spare) == 0 {
		if err := m.grow(d); err != nil {
			return place{}, err
		}
	}
	// Reuse the slot that has been free the longest.
	p := m.spare[0]
	m.spare = append(m.spare[:0], m.spare[1:]...)
	return p, nil
}

// grow allocates a page. The first page also contains the summary word and the staging area.
func (m *memory) grow(d *cu.Driver) error {
	var p place
	flags := uint32(cu.CU_MEMHOSTALLOC_PORTABLE | cu.CU_MEMHOSTALLOC_DEVICEMAP)
	if err := d.CuMemHostAlloc(&p.host, pageBytes, flags); err != nil {
		return err
	}
	if err := d.CuMemHostGetDevicePointer(&p.device, p.host, 0); err != nil {
		return errors.Join(err, d.CuMemFreeHost(p.host))
	}
	*(*[pageBytes]byte)(p.host) = [pageBytes]byte{}
	first, last := uintptr(0), uintptr(pageBytes)
	if len(m.pages) == 0 {
		first, last = slotBytes, pageBytes-stageBytes
		m.summary, m.stage = p, unsafe.Add(p.host, last)
	}
	m.pages = append(m.pages, p.host)
	for ; first+slotBytes <= last; first += slotBytes {
		m.spare = append(m.spare, place{unsafe.Add(p.host, first), p.device + cu.CUdeviceptr(first)})
	}
	return nil
}

// store sets a device variable and waits until the copy is complete.
func (m *memory) store(d *cu.Driver, at cu.CUdeviceptr, value armed) error {
	*(*armed)(m.stage) = value
	if err := d.CuMemcpyHtoDAsync(at, m.stage, unsafe.Sizeof(value), m.stream); err != nil {
		return err
	}
	return d.CuStreamSynchronize(m.stream)
}

// text reads the text of a site from the device.
func (m *memory) text(d *cu.Driver, at cu.CUdeviceptr) ([]byte, error) {
	length, err := m.load(d, at, 4)
	if err != nil {
		return nil, err
	}
	n := min(uintptr(*(*uint32)(unsafe.Pointer(&length[0]))), maxText)
	var text []byte
	for at += 4; n > 0; {
		part, err := m.load(d, at, min(n, stageBytes))
		if err != nil {
			return nil, err
		}
		text = append(text, part...)
		at, n = at+cu.CUdeviceptr(len(part)), n-uintptr(len(part))
	}
	return text, nil
}

// load copies n bytes from the device to the staging area.
func (m *memory) load(d *cu.Driver, at cu.CUdeviceptr, n uintptr) ([]byte, error) {
	if err := d.CuMemcpyDtoHAsync(m.stage, at, n, m.stream); err != nil {
		return nil, err
	}
	if err := d.CuStreamSynchronize(m.stream); err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(m.stage), n), nil
}

// free releases all memory and the stream.
func (m *memory) free(d *cu.Driver) error {
	var errs []error
	for _, p := range m.pages {
		errs = append(errs, d.CuMemFreeHost(p))
	}
	if m.stream != 0 {
		errs = append(errs, d.CuStreamDestroy(m.stream))
	}
	*m = memory{}
	return errors.Join(errs...)
}
