// Package zstd decompresses the Zstandard format (RFC 8878). Since CUDA 12.8, nvcc uses it to
// compress the entries of fat binaries. The package decodes whole frames in memory. It does not
// support dictionaries or compression.
//
// The input may be hostile. Memory use grows with the decoded size and never exceeds the caller's
// limit.
package zstd

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrDamaged means that the data is not Zstandard, or is truncated or corrupted.
var ErrDamaged = errors.New("damaged Zstandard data")

// ErrTooLarge means that the decoded data would exceed the limit.
var ErrTooLarge = errors.New("the Zstandard data is larger than the limit")

// ErrDictionary means that a frame requires a dictionary.
var ErrDictionary = errors.New("the Zstandard data needs a dictionary")

const (
	frameMagic     = 0xfd2fb528
	skippableMagic = 0x184d2a50 // this number and the 15 above it begin skippable frames
	maxBlock       = 128 << 10
)

var le = binary.LittleEndian

func damagedf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// Decode returns the contents of all frames in src, at most limit bytes.
func Decode(src []byte, limit int) ([]byte, error) {
	d := decoder{limit: limit}
	for first := true; first || len(src) > 0; first = false {
		if len(src) < 4 {
			return nil, damagedf("%d bytes are left for a frame", len(src))
		}
		var err error
		switch magic := le.Uint32(src); {
		case magic == frameMagic:
			src, err = d.frame(src[4:])
		case magic&^15 == skippableMagic:
			src, err = skipFrame(src[4:])
		default:
			err = damagedf("a frame begins with %#x", magic)
		}
		if err != nil {
			return nil, err
		}
	}
	return d.out, nil
}

func skipFrame(src []byte) ([]byte, error) {
	if len(src) < 4 || uint64(len(src)-4) < uint64(le.Uint32(src)) {
		return nil, damagedf("a skippable frame is truncated")
	}
	return src[4+int(le.Uint32(src)):], nil
}

// decoder holds the state that blocks share.
type decoder struct {
	out   []byte
	limit int

	start   int    // index in out where the current frame begins
	window  uint64 // maximum distance of a match
	repeats [3]uint32
	huffman *huffmanTable // table of the previous block that had one
	tables  [3]*fseTable  // tables for literal lengths, offsets and match lengths
	lits    []byte
}

type header struct {
	window   uint64
	content  uint64
	sized    bool
	checksum bool
}

// frame decodes one frame and returns the bytes after it.
func (d *decoder) frame(src []byte) ([]byte, error) {
	h, src, err := readHeader(src)
	if err != nil {
		return nil, err
	}
	if h.sized && h.content > uint64(d.limit-len(d.out)) {
		return nil, ErrTooLarge
	}
	d.start, d.window, d.repeats = len(d.out), h.window, [3]uint32{1, 4, 8}
	d.huffman, d.tables = nil, [3]*fseTable{}
	for last := false; !last; {
		if src, last, err = d.block(src); err != nil {
			return nil, err
		}
	}
	content := d.out[d.start:]
	if h.sized && uint64(len(content)) != h.content {
		return nil, damagedf("%d bytes instead of %d", len(content), h.content)
	}
	if !h.checksum {
		return src, nil
	}
	if len(src) < 4 || le.Uint32(src) != uint32(xxhash64(content)) {
		return nil, damagedf("the checksum is wrong")
	}
	return src[4:], nil
}

// readHeader reads a frame's header after its magic number.
func readHeader(src []byte) (header, []byte, error) {
	bad := func() (header, []byte, error) { return header{}, nil, damagedf("a frame's header") }
	if len(src) == 0 {
		return bad()
	}
	desc := src[0]
	src = src[1:]
	single := desc&0x20 != 0
	if desc&0x08 != 0 {
		return bad()
	}
	h := header{checksum: desc&4 != 0}
	if !single {
		if len(src) == 0 {
			return bad()
		}
		base := uint64(1) << (10 + src[0]>>3)
		h.window = base + base/8*uint64(src[0]&7)
		src = src[1:]
	}
	id, n := [4]int{0, 1, 2, 4}[desc&3], [4]int{0, 2, 4, 8}[desc>>6]
	if n == 0 && single {
		n = 1
	}
	if len(src) < id+n {
		return bad()
	}
	for _, b := range src[:id] {
		if b != 0 {
			return header{}, nil, ErrDictionary
		}
	}
	src = src[id:]
	h.sized = n > 0
	for i, b := range src[:n] {
		h.content |= uint64(b) << (8 * i)
	}
	if n == 2 {
		h.content += 256
	}
	if single {
		h.window = h.content
	}
	return h, src[n:], nil
}

// block decodes one block and returns the bytes after it.
func (d *decoder) block(src []byte) (rest []byte, last bool, err error) {
	if len(src) < 3 {
		return nil, false, damagedf("a block is truncated")
	}
	head := uint32(src[0]) | uint32(src[1])<<8 | uint32(src[2])<<16
	src = src[3:]
	n := int(head >> 3)
	most := int(min(max(d.window, 1), maxBlock)) // the window of an empty frame has size 0
	stored := n
	if kind := head >> 1 & 3; kind == 1 {
		stored = 1
	}
	switch {
	case n > most && n > 0:
		return nil, false, damagedf("a block of %d bytes", n)
	case stored > len(src):
		return nil, false, damagedf("a block is truncated")
	}
	data, rest := src[:stored], src[stored:]
	switch head >> 1 & 3 {
	case 0:
		err = d.append(data)
	case 1:
		if n > d.limit-len(d.out) {
			err = ErrTooLarge
			break
		}
		for range n {
			d.out = append(d.out, data[0])
		}
	case 2:
		err = d.compressed(data, most)
	default:
		err = damagedf("a block of the reserved type")
	}
	return rest, head&1 != 0, err
}

func (d *decoder) append(b []byte) error {
	if len(b) > d.limit-len(d.out) {
		return ErrTooLarge
	}
	d.out = append(d.out, b...)
	return nil
}

// compressed decodes a compressed block. most is the maximum size of the result in bytes.
func (d *decoder) compressed(src []byte, most int) error {
	src, err := d.literals(src, most)
	if err != nil {
		return err
	}
	return d.sequences(src, most)
}

// copyMatch appends n bytes, starting offset bytes before the end of the output. The source and the
// copy may overlap.
func (d *decoder) copyMatch(offset uint32, n int) error {
	if have := uint64(len(d.out) - d.start); uint64(offset) > have || uint64(offset) > d.window || offset == 0 {
		return damagedf("a match %d bytes back", offset)
	}
	if n > d.limit-len(d.out) {
		return ErrTooLarge
	}
	for n > 0 {
		from := len(d.out) - int(offset)
		part := min(n, int(offset))
		d.out = append(d.out, d.out[from:from+part]...)
		n -= part
	}
	return nil
}
