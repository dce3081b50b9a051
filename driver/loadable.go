package driver

import (
	"bytes"
	"errors"
	"unsafe"

	"github.com/purecuda/cuda/driver/image"
)

// loadable is code whose headers were checked, as the driver takes it.
type loadable struct {
	kind image.Kind
	data []byte // PTX ends in NUL
}

// newLoadable checks data. The driver reads PTX until a NUL and binaries by their
// headers, both without knowing the length.
func newLoadable(data []byte) (loadable, error) { return newLoadableIn(new([]byte), data) }

// newLoadableIn is newLoadable that may put the text in room.
func newLoadableIn(room *[]byte, data []byte) (loadable, error) {
	kind, err := image.Check(data)
	if err != nil {
		return loadable{}, invalidImage(err)
	}
	return terminated(room, kind, data), nil
}

// terminated is code that is known to be of a kind. PTX ends at its first NUL, or
// gets one.
func terminated(room *[]byte, kind image.Kind, data []byte) loadable {
	if kind != image.PTX {
		return loadable{kind, data}
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return loadable{kind, data[:i+1]}
	}
	*room = append(append((*room)[:0], data...), 0)
	return loadable{kind, *room}
}

// loadableOf is an image as the driver takes it.
func loadableOf(i *image.Image) loadable {
	return terminated(new([]byte), i.Kind(), i.Bytes())
}

func (l loadable) ptr() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(l.data)) }

// ptx is the text without its NUL, nil for binaries.
func (l loadable) ptx() []byte {
	if l.kind != image.PTX {
		return nil
	}
	return l.data[:len(l.data)-1]
}

// imageError is an error of package image that also matches the driver's code.
type imageError struct {
	error
	code CUresult
}

func (e *imageError) Unwrap() []error { return []error{e.error, e.code} }

// invalidImage adds the code to what package image rejects.
func invalidImage(err error) error {
	if errors.Is(err, image.ErrInvalid) {
		return &imageError{err, CUDA_ERROR_INVALID_VALUE}
	}
	return err
}

// cName is a name as C takes it.
func cName(what, name string) (*byte, error) {
	if name == "" {
		return nil, invalidf("empty name of a %s", what)
	}
	b := make([]byte, len(name)+1)
	copy(b, name)
	if bytes.IndexByte(b, 0) != len(name) {
		return nil, invalidf("name of a %s %q contains a NUL", what, name)
	}
	return &b[0], nil
}

// textAt reads a C string of the driver's.
func textAt(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
