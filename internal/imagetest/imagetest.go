// Package imagetest creates small cubins and fat binaries for tests of the code that reads them.
// They contain headers but no code.
package imagetest

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Cubin returns the header of an sm_90 cubin, followed by the given number of zero bytes.
func Cubin(room int) []byte {
	b := make([]byte, 64+room)
	copy(b, "\x7fELF\x02\x01\x01\x41\x08")
	binary.LittleEndian.PutUint16(b[18:], 190)
	binary.LittleEndian.PutUint32(b[0x30:], 90<<8|4)
	return b
}

// WithSection returns a cubin with the header of one section, of the given type, offset and size.
func WithSection(kind uint32, at, size uint64) []byte {
	b := Cubin(64)
	le, h := binary.LittleEndian, b[64:]
	b[0x28], b[0x3a], b[0x3c] = 64, 64, 1
	le.PutUint32(h[4:], kind)
	le.PutUint64(h[0x18:], at)
	le.PutUint64(h[0x20:], size)
	return b
}

// WithSegment returns a cubin with the header of one segment, of the given type, offset and size.
func WithSegment(kind uint32, at, size uint64) []byte {
	b := Cubin(56)
	le, h := binary.LittleEndian, b[64:]
	b[0x20], b[0x36], b[0x38] = 64, 56, 1
	le.PutUint32(h, kind)
	le.PutUint64(h[8:], at)
	le.PutUint64(h[0x20:], size)
	return b
}

// Entry returns one entry of a fat binary. kind is 1 for PTX and 2 for a cubin.
func Entry(kind uint16, arch uint32, flags uint64, data []byte) []byte {
	padded := append(slices.Clone(data), make([]byte, (8-len(data)%8)%8)...)
	b := make([]byte, 64, 64+len(padded))
	le := binary.LittleEndian
	le.PutUint16(b, kind)
	le.PutUint16(b[2:], 0x101)
	le.PutUint32(b[4:], 64)
	le.PutUint64(b[8:], uint64(len(padded)))
	le.PutUint16(b[24:], 4)
	le.PutUint16(b[26:], 8)
	le.PutUint32(b[28:], arch)
	le.PutUint64(b[40:], flags|0x11)
	return append(b, padded...)
}

// Fatbin returns a fat binary with the given entries.
func Fatbin(entries ...[]byte) []byte {
	body := bytes.Join(entries, nil)
	b := make([]byte, 16, 16+len(body))
	copy(b, "\x50\xed\x55\xba\x01\x00\x10\x00")
	binary.LittleEndian.PutUint64(b[8:], uint64(len(body)))
	return append(b, body...)
}

// CubinFor returns a cubin with the given header flags, such as 90<<8|4 for sm_90.
func CubinFor(flags uint32) []byte {
	b := Cubin(0)
	binary.LittleEndian.PutUint32(b[0x30:], flags)
	return b
}
