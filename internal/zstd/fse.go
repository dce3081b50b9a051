package zstd

import "math/bits"

// fseTable is a table for finite state entropy decoding. A state is an index into entries. Each
// entry contains a symbol and the transition to the next state.
type fseTable struct {
	log     int
	entries []fseEntry
}

type fseEntry struct {
	symbol uint8
	bits   uint8
	base   uint16
}

// readFSE reads the description of a table and returns the bytes after it.
func readFSE(src []byte, symbols, maxLog int) (*fseTable, []byte, error) {
	r := forward{src: src}
	log := int(r.peek(4)) + 5
	r.pos += 4
	if log > maxLog {
		return nil, nil, damagedf("a table of 2^%d states", log)
	}
	var counts []int16
	for left := 1 << log; left > 0; {
		if len(counts) >= symbols || r.pos > 8*len(src) {
			return nil, nil, damagedf("a table with too many symbols")
		}
		// The value is at most left+1. Small values use one bit less.
		n := bits.Len(uint(left + 1))
		v := int(r.peek(n))
		short := 1<<n - 1 - (left + 1)
		if low := v & (1<<(n-1) - 1); low < short {
			v = low
			r.pos += n - 1
		} else {
			if v >= 1<<(n-1) {
				v -= short
			}
			r.pos += n
		}
		count := v - 1
		counts = append(counts, int16(count))
		left -= max(count, -count)
		if count != 0 {
			continue
		}
		for more := 3; more == 3; { // a run of symbols that do not occur
			more = int(r.peek(2))
			r.pos += 2
			for range more {
				counts = append(counts, 0)
			}
			if len(counts) > symbols || r.pos > 8*len(src) {
				return nil, nil, damagedf("a table with too many symbols")
			}
		}
	}
	rest, err := r.rest()
	if err != nil {
		return nil, nil, err
	}
	return newFSE(counts, log), rest, nil
}

// newFSE builds the table from the symbols' counts, which must add up to 2^log. A count of -1 means
// "less than one".
func newFSE(counts []int16, log int) *fseTable {
	size := 1 << log
	t := &fseTable{log, make([]fseEntry, size)}
	next := make([]uint16, len(counts))
	high := size - 1
	for s, c := range counts {
		next[s] = uint16(c)
		if c == -1 {
			next[s] = 1
			t.entries[high].symbol = uint8(s)
			high--
		}
	}
	at, step := 0, size>>1+size>>3+3
	for s, c := range counts {
		for range max(c, 0) {
			t.entries[at].symbol = uint8(s)
			for at = (at + step) & (size - 1); at > high; {
				at = (at + step) & (size - 1)
			}
		}
	}
	for i := range t.entries {
		e := &t.entries[i]
		x := next[e.symbol]
		next[e.symbol]++
		n := log - (bits.Len16(x) - 1)
		e.bits, e.base = uint8(n), uint16(int(x)<<n-size)
	}
	return t
}

// singleFSE returns a table that always decodes to symbol.
func singleFSE(symbol uint8) *fseTable {
	return &fseTable{0, []fseEntry{{symbol: symbol}}}
}

type fseState struct {
	t *fseTable
	e fseEntry
}

func (s *fseState) init(t *fseTable, r *backward) {
	s.t, s.e = t, t.entries[r.read(t.log)]
}

func (s *fseState) next(r *backward) {
	s.e = s.t.entries[uint32(s.e.base)+r.read(int(s.e.bits))]
}
