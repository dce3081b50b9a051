package nvrtc

import "encoding/binary"

// packed is a sequence of byte strings, each preceded by its length.
type packed []byte

func (p *packed) put(b []byte) {
	*p = binary.AppendUvarint(*p, uint64(len(b)))
	*p = append(*p, b...)
}

// take removes and returns the first string. It returns an empty one if none is left.
func (p *packed) take() []byte {
	n, head := binary.Uvarint(*p)
	if head <= 0 || n > uint64(len(*p)-head) {
		*p = nil
		return nil
	}
	end := head + int(n)
	b := (*p)[head:end:end]
	*p = (*p)[end:]
	if n == 0 {
		return nil
	}
	return b
}
