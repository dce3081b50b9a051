package jit

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/purecuda/cuda/driver/image"
)

// Source is one piece of PTX source in an image, with its name.
type Source struct{ Name, Text string }

// plainSource wraps PTX that was loaded directly. Its name is the name that ptxas would use.
func plainSource(text string) []Source { return []Source{{"ptx input", text}} }

// Image is device code as a load function receives it: an address, and the length if the call
// includes one. A load through the C API passes only the address, so the headers determine how much
// is read. If they are wrong, the damage cannot be detected. The typed API is safe, because it
// checks every header against the length before the load.
type Image struct {
	data unsafe.Pointer
	size uint64
}

// largestImage is the maximum number of bytes read from an image of unknown length, in case its
// headers are wrong or its NUL is missing.
const largestImage = 2 << 30

// Unsized returns an image of unknown length. Its headers or its terminating NUL determine where it
// ends.
func Unsized(data unsafe.Pointer) Image { return Image{data, largestImage} }

// Sized returns an image of known length.
func Sized(data []byte) Image {
	return Image{unsafe.Pointer(unsafe.SliceData(data)), uint64(len(data))}
}

func (i Image) bytes(at, n uint64) ([]byte, bool) {
	if at > i.size || n > i.size-at {
		return nil, false
	}
	return unsafe.Slice((*byte)(unsafe.Add(i.data, at)), n), true
}

// magic returns the first four bytes as a number. If the image is shorter, the missing bytes are 0.
func (i Image) magic() uint32 {
	var b [4]byte
	for k := range b {
		c, ok := i.bytes(uint64(k), 1)
		if !ok || c[0] == 0 {
			break // the text ends here, and the memory may end here too
		}
		b[k] = c[0]
	}
	return le.Uint32(b[:])
}

// text returns the image up to its first NUL, or false if there is no NUL.
func (i Image) text() (string, bool) {
	for n := uint64(0); n < i.size; n++ {
		if *(*byte)(unsafe.Add(i.data, n)) == 0 {
			return string(unsafe.Slice((*byte)(i.data), n)), true
		}
	}
	return "", false
}

// ErrNotCode is the error for an image that is neither a binary nor NUL-terminated text.
var ErrNotCode = errors.New("the image is neither a binary nor a text with a NUL at its end")

// Sources copies the PTX from an image that is plain PTX, a fat binary, or the output of a Linker.
// For any other image, the error states why a GPU is needed.
func (i Image) Sources(capability int) ([]Source, error) {
	const (
		elf        = 0x464c457f
		fatbin     = 0xba55ed50
		fatWrapper = 0x466243b1
	)
	switch i.magic() {
	case elf:
		if sources := linkedSources(i); sources != nil {
			return sources, nil
		}
		return nil, errors.New("a cubin holds machine code of a GPU")
	case fatbin:
		return fatbinSource(i, capability)
	case fatWrapper:
		return nil, errors.New("this is the C wrapper of a fat binary, not the fat binary")
	}
	text, ok := i.text()
	if !ok {
		return nil, ErrNotCode
	}
	return plainSource(text), nil
}

// fatbinSource returns the PTX in a fat binary that a device of the given capability would compile.
// If the fat binary contains no such PTX, the error states why.
func fatbinSource(raw Image, capability int) ([]Source, error) {
	const header = 16 // the header holds its own size and the size of the contents
	head, ok := raw.bytes(0, header)
	if !ok {
		return nil, errors.New("the fat binary is damaged")
	}
	at := uint64(le.Uint16(head[6:]))
	rest, ok := raw.bytes(at, le.Uint64(head[8:]))
	if !ok {
		return nil, errors.New("the fat binary is damaged")
	}
	data, _ := raw.bytes(0, at+uint64(len(rest)))
	fat, err := image.Parse("fat binary", data)
	if err != nil {
		return nil, err
	}
	device := image.Arch{Major: capability / 10, Minor: capability % 10}
	var best image.Part
	for _, p := range fat.Parts() {
		if p.Kind == image.PTX && p.RunsOn(device) && (best.Kind == 0 || number(best.Arch) < number(p.Arch)) {
			best = p
		}
	}
	if best.Kind == 0 {
		return nil, fmt.Errorf("this fat binary holds machine code of a GPU and no PTX for compute capability %d.%d or below", device.Major, device.Minor)
	}
	text, err := best.Bytes()
	if err != nil {
		return nil, fmt.Errorf("in this fat binary: %w", err)
	}
	return plainSource(string(text)), nil
}

func number(a image.Arch) int { return a.Major*10 + a.Minor }
