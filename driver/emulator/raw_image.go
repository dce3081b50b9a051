package emulator

import "unsafe"

// rawImage is code as a load function gets it: an address, and the number of
// bytes where the call tells it. From C a load gets the address alone, so what
// is read there is what headers say, and a header that lies about a damaged
// image cannot be found out. Callers of the typed API are safe from that: it
// checks every header against the length before the load.
type rawImage struct {
	data unsafe.Pointer
	size uint64
}

// largestImage bounds what the headers of an image without a length may claim,
// and the end of a text in it.
const largestImage = 2 << 30

func unsizedImage(data unsafe.Pointer) rawImage { return rawImage{data, largestImage} }

// sizedImage is an image of known length.
func sizedImage(data []byte) rawImage {
	return rawImage{unsafe.Pointer(unsafe.SliceData(data)), uint64(len(data))}
}

// bytes returns n bytes at an offset, false if the image does not reach that far.
func (i rawImage) bytes(at, n uint64) ([]byte, bool) {
	if at > i.size || n > i.size-at {
		return nil, false
	}
	return unsafe.Slice((*byte)(unsafe.Add(i.data, at)), n), true
}

// magic is the number that an image begins with. Less than four bytes have none.
func (i rawImage) magic() uint32 {
	var b [4]byte
	for k := range b {
		c, ok := i.bytes(uint64(k), 1)
		if !ok || c[0] == 0 {
			break // the text ends here, and may be all there is
		}
		b[k] = c[0]
	}
	return le.Uint32(b[:])
}

// text is the image up to its first NUL, false if it has none.
func (i rawImage) text() (string, bool) {
	for n := uint64(0); n < i.size; n++ {
		if *(*byte)(unsafe.Add(i.data, n)) == 0 {
			return string(unsafe.Slice((*byte)(i.data), n)), true
		}
	}
	return "", false
}
