package emulator

import "unsafe"

// rawImage is code as a load function receives it: an address, and the number of bytes if the call
// includes it. From C, a load only gets the address. What is read there depends on the headers, and
// a damaged image whose headers are wrong cannot be detected. Callers of the typed API are safe
// from that: it checks every header against the length before the load.
type rawImage struct {
	data unsafe.Pointer
	size uint64
}

// largestImage limits the size that the headers of an image without a length may claim, and where a
// text in it may end.
const largestImage = 2 << 30

func unsizedImage(data unsafe.Pointer) rawImage { return rawImage{data, largestImage} }

// sizedImage returns an image of known length.
func sizedImage(data []byte) rawImage {
	return rawImage{unsafe.Pointer(unsafe.SliceData(data)), uint64(len(data))}
}

// bytes returns n bytes at an offset. It returns false if the image is shorter.
func (i rawImage) bytes(at, n uint64) ([]byte, bool) {
	if at > i.size || n > i.size-at {
		return nil, false
	}
	return unsafe.Slice((*byte)(unsafe.Add(i.data, at)), n), true
}

// magic returns the number that an image begins with. An image of less than four bytes has none.
func (i rawImage) magic() uint32 {
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

// text returns the image up to its first NUL. It returns false if there is no NUL.
func (i rawImage) text() (string, bool) {
	for n := uint64(0); n < i.size; n++ {
		if *(*byte)(unsafe.Add(i.data, n)) == 0 {
			return string(unsafe.Slice((*byte)(i.data), n)), true
		}
	}
	return "", false
}
