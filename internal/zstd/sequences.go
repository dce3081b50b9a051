package zstd

// A sequence consists of literals to copy and a match that follows them.

const (
	literalLengths = iota
	offsets
	matchLengths
)

// codeKind holds the fixed properties of one of the three kinds of codes.
type codeKind struct {
	symbols, maxLog int
	standard        *fseTable
}

var codeKinds = [3]codeKind{
	literalLengths: {36, 9, newFSE([]int16{4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1}, 6)},
	offsets:        {32, 8, newFSE([]int16{1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1}, 5)},
	matchLengths: {53, 9, newFSE([]int16{1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		-1, -1, -1, -1, -1, -1, -1}, 6)},
}

// lengthCode describes the lengths of one code: base plus the value of the extra bits.
type lengthCode struct {
	base uint32
	bits int
}

var literalCodes, matchCodes = lengthCodes(0, 16, []int{1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}),
	lengthCodes(3, 32, []int{1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})

// lengthCodes builds a table of lengths. The lengths of the first codes, plain in number, have no
// extra bits and count up from least. One code for each element of extra follows, which begins
// where the previous code ends. But a code with n >= 6 extra bits begins at least + 2^n.
func lengthCodes(least uint32, plain int, extra []int) []lengthCode {
	var out []lengthCode
	for i := range plain {
		out = append(out, lengthCode{least + uint32(i), 0})
	}
	at := least + uint32(plain)
	for _, n := range extra {
		if n >= 6 {
			at = least + 1<<n
		}
		out = append(out, lengthCode{at, n})
		at += 1 << n
	}
	return out
}

// sequences decodes and executes the sequences of a block.
func (d *decoder) sequences(src []byte, most int) error {
	count, src, err := sequenceCount(src)
	if err != nil {
		return err
	}
	if count == 0 {
		if len(src) != 0 {
			return damagedf("%d bytes behind a block's literals", len(src))
		}
		return d.append(d.lits)
	}
	if src, err = d.readTables(src); err != nil {
		return err
	}
	r, err := newBackward(src)
	if err != nil {
		return err
	}
	var lit, off, match fseState
	lit.init(d.tables[literalLengths], &r)
	off.init(d.tables[offsets], &r)
	match.init(d.tables[matchLengths], &r)
	end := len(d.out) + most
	for i := range count {
		v := uint32(1)<<off.e.symbol + r.read(int(off.e.symbol))
		m, l := matchCodes[match.e.symbol], literalCodes[lit.e.symbol]
		matched := int(m.base + r.read(m.bits))
		literal := int(l.base + r.read(l.bits))
		if i < count-1 {
			lit.next(&r)
			match.next(&r)
			off.next(&r)
		}
		if r.pos < 0 || literal > len(d.lits) || literal+matched > end-len(d.out) {
			return damagedf("a sequence of %d and %d bytes", literal, matched)
		}
		if err := d.append(d.lits[:literal]); err != nil {
			return err
		}
		d.lits = d.lits[literal:]
		if err := d.copyMatch(d.offset(v, literal == 0), matched); err != nil {
			return err
		}
	}
	if r.pos != 0 || len(d.lits) > end-len(d.out) {
		return damagedf("%d bits are left of the sequences", r.pos)
	}
	return d.append(d.lits)
}

func sequenceCount(src []byte) (int, []byte, error) {
	switch {
	case len(src) == 0:
	case src[0] < 128:
		return int(src[0]), src[1:], nil
	case src[0] < 255 && len(src) >= 2:
		return int(src[0]-128)<<8 + int(src[1]), src[2:], nil
	case src[0] == 255 && len(src) >= 3:
		return int(le.Uint16(src[1:])) + 0x7f00, src[3:], nil
	}
	return 0, nil, damagedf("a block without sequences")
}

// readTables reads the tables of the three kinds of codes. Each table is predefined, a single
// symbol, described in src, or the previous block's table.
func (d *decoder) readTables(src []byte) ([]byte, error) {
	if len(src) == 0 || src[0]&3 != 0 {
		return nil, damagedf("a block's tables")
	}
	modes := src[0]
	src = src[1:]
	for k, kind := range codeKinds {
		var err error
		switch modes >> (6 - 2*k) & 3 {
		case 0:
			d.tables[k] = kind.standard
		case 1:
			if len(src) == 0 || int(src[0]) >= kind.symbols {
				return nil, damagedf("a table of one symbol")
			}
			d.tables[k], src = singleFSE(src[0]), src[1:]
		case 2:
			d.tables[k], src, err = readFSE(src, kind.symbols, kind.maxLog)
		default:
			if d.tables[k] == nil {
				err = damagedf("a table is repeated that was not there")
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return src, nil
}

// offset returns the distance for an offset value. The values 1 to 3 refer to the last three
// distances. If the distance is invalid, offset returns 0.
func (d *decoder) offset(v uint32, noLiterals bool) uint32 {
	p := &d.repeats
	if v > 3 {
		p[2], p[1], p[0] = p[1], p[0], v-3
		return p[0]
	}
	if noLiterals {
		v++
	}
	switch v {
	case 1:
	case 2:
		p[0], p[1] = p[1], p[0]
	case 3:
		p[2], p[1], p[0] = p[1], p[0], p[2]
	default:
		p[2], p[1], p[0] = p[1], p[0], p[0]-1
	}
	return p[0]
}
