package zstd

import "math/bits"

// backward reads a bit stream from its end to its beginning. The highest set bit of the
// last byte marks the end and is not part of the stream.
type backward struct {
	src []byte
	pos int // number of bits left; negative after reading beyond the beginning
}

func newBackward(src []byte) (backward, error) {
	if len(src) == 0 || src[len(src)-1] == 0 {
		return backward{}, damagedf("a bit stream without an end")
	}
	return backward{src, 8*len(src) - 1 - bits.LeadingZeros8(src[len(src)-1])}, nil
}

// peek returns the next n bits, where n is at most 32. Bits before the beginning are zero.
func (r *backward) peek(n int) uint32 {
	at := r.pos - n
	shift := 0
	if at < 0 {
		if n+at <= 0 {
			return 0
		}
		at, shift, n = 0, -at, n+at
	}
	var word uint64
	if i := at / 8; i+8 <= len(r.src) {
		word = le.Uint64(r.src[i:])
	} else {
		for k, b := range r.src[i:] {
			word |= uint64(b) << (8 * k)
		}
	}
	return uint32(word>>(at%8)&(1<<n-1)) << shift
}

func (r *backward) read(n int) uint32 {
	v := r.peek(n)
	r.pos -= n
	return v
}

// forward reads a bit stream from its beginning. Bits after the end are zero.
type forward struct {
	src []byte
	pos int
}

func (r *forward) peek(n int) uint32 {
	var v uint32
	for i := range n {
		if at := r.pos + i; at/8 < len(r.src) {
			v |= uint32(r.src[at/8]>>(at%8)&1) << i
		}
	}
	return v
}

// rest returns the bytes after the last byte that was read. It returns an error if the reader has
// passed the end.
func (r *forward) rest() ([]byte, error) {
	n := (r.pos + 7) / 8
	if n > len(r.src) {
		return nil, damagedf("a table is truncated")
	}
	return r.src[n:], nil
}
