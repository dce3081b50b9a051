package zstd

import "math/bits"

const maxHuffmanBits = 11

// huffmanTable maps the next bits of a stream to a symbol and the length of its code.
type huffmanTable struct {
	bits    int // length of the longest code
	entries []huffmanEntry
}

type huffmanEntry struct{ symbol, bits uint8 }

// literals decodes a block's literals into d.lits and returns the bytes after them.
func (d *decoder) literals(src []byte, most int) ([]byte, error) {
	if len(src) == 0 {
		return nil, damagedf("a block without literals")
	}
	kind, format := src[0]&3, src[0]>>2&3
	var word uint64
	for i, b := range src[:min(len(src), 5)] {
		word |= uint64(b) << (8 * i)
	}
	if kind < 2 {
		return d.plainLiterals(src, kind == 1, format, word, most)
	}
	width, head := [4]int{10, 10, 14, 18}[format], [4]int{3, 3, 4, 5}[format]
	size := int(word >> 4 & (1<<width - 1))
	packed := int(word >> (4 + width) & (1<<width - 1))
	if len(src)-head < packed || size > most {
		return nil, damagedf("%d literals in %d bytes", size, packed)
	}
	data, rest := src[head:head+packed], src[head+packed:]
	if kind == 2 {
		var err error
		if d.huffman, data, err = readHuffman(data); err != nil {
			return nil, err
		}
	} else if d.huffman == nil {
		return nil, damagedf("literals without a table")
	}
	d.lits = make([]byte, size)
	if format == 0 {
		return rest, d.huffman.decode(d.lits, data)
	}
	return rest, d.huffman.decode4(d.lits, data)
}

// plainLiterals reads literals that are stored uncompressed or, if repeat is set, as one repeated
// byte.
func (d *decoder) plainLiterals(src []byte, repeat bool, format byte, word uint64, most int) ([]byte, error) {
	head, size := 1, int(word>>3&0x1f)
	switch format {
	case 1:
		head, size = 2, int(word>>4&0xfff)
	case 3:
		head, size = 3, int(word>>4&0xfffff)
	}
	stored := size
	if repeat {
		stored = 1
	}
	if len(src)-head < stored || size > most {
		return nil, damagedf("%d literals in %d bytes", size, len(src))
	}
	data, rest := src[head:head+stored], src[head+stored:]
	if !repeat {
		d.lits = data
		return rest, nil
	}
	d.lits = make([]byte, size)
	for i := range d.lits {
		d.lits[i] = data[0]
	}
	return rest, nil
}

// readHuffman reads the description of a table and returns the bytes after it.
func readHuffman(src []byte) (*huffmanTable, []byte, error) {
	if len(src) == 0 {
		return nil, nil, damagedf("a code without a description")
	}
	n := int(src[0])
	src = src[1:]
	var weights []uint8
	if n >= 128 { // four bits per weight
		n -= 127
		size := (n + 1) / 2
		if size > len(src) {
			return nil, nil, damagedf("a code is truncated")
		}
		for i := range n {
			weights = append(weights, src[i/2]>>(4*(1-i%2))&15)
		}
		src = src[size:]
	} else {
		if n > len(src) {
			return nil, nil, damagedf("a code is truncated")
		}
		var err error
		if weights, err = readWeights(src[:n]); err != nil {
			return nil, nil, err
		}
		src = src[n:]
	}
	t, err := newHuffman(weights)
	return t, src, err
}

func readWeights(src []byte) ([]uint8, error) {
	t, src, err := readFSE(src, maxHuffmanBits+2, 6)
	if err != nil {
		return nil, err
	}
	r, err := newBackward(src)
	if err != nil {
		return nil, err
	}
	var out []uint8
	var now, other fseState // the two states alternate
	now.init(t, &r)
	other.init(t, &r)
	if r.pos < 0 {
		return nil, damagedf("a code is truncated")
	}
	for len(out) < 255 {
		out = append(out, now.e.symbol)
		now.next(&r)
		if r.pos < 0 {
			return append(out, other.e.symbol), nil
		}
		now, other = other, now
	}
	return nil, damagedf("a code of too many symbols")
}

// newHuffman builds the table from the weights of all symbols except the last, whose weight follows
// from the others. A symbol of weight w has 2^(w-1) table entries.
func newHuffman(weights []uint8) (*huffmanTable, error) {
	sum := 0
	for _, w := range weights {
		if w > maxHuffmanBits {
			return nil, damagedf("a code of %d bits", w)
		}
		sum += 1 << w >> 1
	}
	if sum == 0 || len(weights) > 255 {
		return nil, damagedf("a code of %d symbols", len(weights))
	}
	log := bits.Len(uint(sum))
	left := 1<<log - sum
	if log > maxHuffmanBits || left&(left-1) != 0 {
		return nil, damagedf("a code that is not complete")
	}
	weights = append(weights, uint8(bits.Len(uint(left))))
	t := &huffmanTable{log, make([]huffmanEntry, 0, 1<<log)}
	for w := 1; w <= log; w++ {
		for s, have := range weights {
			if int(have) != w {
				continue
			}
			for range 1 << (w - 1) {
				t.entries = append(t.entries, huffmanEntry{uint8(s), uint8(log + 1 - w)})
			}
		}
	}
	return t, nil
}

// decode fills dst from one bit stream.
func (t *huffmanTable) decode(dst, src []byte) error {
	r, err := newBackward(src)
	if err != nil {
		return err
	}
	for i := range dst {
		e := t.entries[r.peek(t.bits)]
		r.pos -= int(e.bits)
		dst[i] = e.symbol
	}
	if r.pos != 0 {
		return damagedf("%d bits are left of the literals", r.pos)
	}
	return nil
}

// decode4 fills each quarter of dst from its own bit stream.
func (t *huffmanTable) decode4(dst, src []byte) error {
	const jump = 6
	if len(src) < jump {
		return damagedf("the literals are cut off")
	}
	sizes := [3]int{int(le.Uint16(src)), int(le.Uint16(src[2:])), int(le.Uint16(src[4:]))}
	src = src[jump:]
	quarter := (len(dst) + 3) / 4
	if 3*quarter > len(dst) {
		return damagedf("%d literals in four streams", len(dst))
	}
	for _, n := range sizes {
		if n > len(src) {
			return damagedf("the literals are cut off")
		}
		if err := t.decode(dst[:quarter], src[:n]); err != nil {
			return err
		}
		dst, src = dst[quarter:], src[n:]
	}
	return t.decode(dst, src)
}
