package driver

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"
)

// image is compiled or compilable code as the driver takes it.
type image struct {
	format imageFormat
	data   []byte      // PTX ends in NUL
	parts  []ImagePart // of binaries
}

type imageFormat uint8

const (
	formatPTX imageFormat = iota
	formatCubin
	formatFatbin
)

var (
	elfMagic    = []byte{0x7f, 'E', 'L', 'F'}
	fatbinMagic = []byte{0x50, 0xed, 0x55, 0xba} // 0xba55ed50, little endian
	wrapMagic   = []byte{0xb1, 0x43, 0x62, 0x46} // 0x466243b1: __fatBinC_Wrapper_t
)

// newImage recognises data. The driver reads PTX until a NUL and binaries by
// their headers, both without knowing the length, so what is neither is
// refused here.
func newImage(data []byte) (image, error) {
	switch {
	case len(data) == 0:
		return image{}, invalidf("the image is empty")
	case bytes.HasPrefix(data, elfMagic):
		part, err := checkCubin(data)
		return image{formatCubin, data, []ImagePart{part}}, err
	case bytes.HasPrefix(data, fatbinMagic):
		parts, err := checkFatbin(data)
		return image{formatFatbin, data, parts}, err
	case bytes.HasPrefix(data, wrapMagic):
		return image{}, invalidf("the image is the C wrapper of a fat binary, which refers to other memory; load the fat binary itself")
	case isPTX(data):
		return image{formatPTX, terminated(data), nil}, nil
	}
	return image{}, invalidf("the image is neither PTX (no .version line), a cubin nor a fat binary: it begins with %q", data[:min(len(data), 16)])
}

var le = binary.LittleEndian

// saturated is a + b, or the largest number.
func saturated(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

// isPTX looks for the directive that every PTX text begins with, after
// comments and blank lines.
func isPTX(data []byte) bool {
	text := data
	if i := bytes.IndexByte(text, 0); i >= 0 {
		text = text[:i]
	}
	return bytes.Contains(text, []byte(".version"))
}

// terminated is data with a NUL at the end; what follows a first NUL is not
// part of the text.
func terminated(data []byte) []byte {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return data[:i+1]
	}
	return append(data[:len(data):len(data)], 0)
}

func (i image) ptr() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(i.data)) }

// ptx is the text without its NUL, nil for binaries.
func (i image) ptx() []byte {
	if i.format != formatPTX {
		return nil
	}
	return i.data[:len(i.data)-1]
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
