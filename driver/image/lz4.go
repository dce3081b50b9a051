package image

var errLZ4 = error(&invalidError{"the compressed data is damaged"})

// unpackLZ4 decodes one LZ4 block, which must expand to size bytes. Entries of fat binaries can be
// compressed in this format. A block consists of literals and matches. A match repeats bytes that
// were decoded earlier (lz4_Block_format.md).
func unpackLZ4(src []byte, size int) ([]byte, error) {
	const shortest = 4
	dst := make([]byte, 0, min(size, 256*len(src))) // one byte of src expands to at most 256 bytes
	for len(src) > 0 {
		token := src[0]
		literals, rest, ok := lz4Length(int(token>>4), src[1:])
		if !ok || literals > len(rest) || len(dst)+literals > size {
			return nil, errLZ4
		}
		dst, src = append(dst, rest[:literals]...), rest[literals:]
		if len(src) == 0 {
			break // the last sequence has no match
		}
		if len(src) < 2 {
			return nil, errLZ4
		}
		distance := int(le.Uint16(src))
		match, rest, ok := lz4Length(int(token&15), src[2:])
		if match += shortest; !ok || distance == 0 || distance > len(dst) || len(dst)+match > size {
			return nil, errLZ4
		}
		for range match { // copied byte by byte, because a match may overlap its own output
			dst = append(dst, dst[len(dst)-distance])
		}
		src = rest
	}
	if len(dst) != size {
		return nil, errLZ4
	}
	return dst, nil
}

// lz4Length completes the length n from a token. If n is 15, it adds bytes from src, up to and
// including the first byte that is not 255.
func lz4Length(n int, src []byte) (length int, rest []byte, ok bool) {
	if n < 15 {
		return n, src, true
	}
	for i, b := range src {
		if n += int(b); b != 255 {
			return n, src[i+1:], true
		}
	}
	return 0, nil, false
}
