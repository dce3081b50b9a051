package driver

import (
	"bytes"
	"errors"
	"unsafe"

	"github.com/purecuda/cuda/driver/image"
)

// loadable is code whose headers were checked, in the form that the driver takes.
type loadable struct {
	kind image.Kind
	data []byte // PTX ends in NUL
}

// newLoadable checks data. The driver does not know its length: it reads PTX up to a NUL, and
// binaries by their headers.
func newLoadable(data []byte) (loadable, error) { return newLoadableIn(new([]byte), data) }

// newLoadableIn is newLoadable with room as optional storage for the text.
func newLoadableIn(room *[]byte, data []byte) (loadable, error) {
	kind, err := image.Check(data)
	if err != nil {
		return loadable{}, invalidImage(err)
	}
	return terminated(room, kind, data), nil
}

// terminated prepares code of a known kind. PTX is cut at its first NUL, or gets one.
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

func loadableOf(i *image.Image) loadable {
	return terminated(new([]byte), i.Kind(), i.Bytes())
}

func (l loadable) ptr() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(l.data)) }

// ptx returns the text without its NUL, nil for binaries.
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

// invalidImage adds the code to errors of package image.
func invalidImage(err error) error {
	if errors.Is(err, image.ErrInvalid) {
		return &imageError{err, CUDA_ERROR_INVALID_VALUE}
	}
	return err
}

// cName returns a name as a C string.
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

// textAt returns the driver's C string as a Go string.
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
