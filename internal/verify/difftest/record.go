package difftest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"hash/crc32"
	"io"
)

// Record contains the recorded results of a device for one form.
type Record struct {
	Name string
	Hash uint64 // Form.Hash at the time of recording
	// Refused means that the device's compiler rejected the form.
	Refused bool
	// First contains the results of the first Kept tuples in little-endian order. Each result has
	// the number of bytes that its type needs.
	First []byte
	// Sums contains one checksum for the results of every Span tuples.
	Sums []uint32
}

const (
	// Kept is the number of tuples whose results are recorded in full.
	Kept = 192
	// Span is the number of tuples per checksum.
	Span = 128
)

// File contains a device's records for a group of forms.
type File struct {
	Device  string
	Driver  int
	Records []Record
}

// NewRecord returns the record of a device's answer.
func NewRecord(f *Form, a Answer) Record {
	r := Record{Name: f.Name, Hash: f.Hash(a.Operands), Refused: a.Refused != nil}
	if r.Refused {
		return r
	}
	r.First = f.encode(a.Results[:f.kept()*len(f.Out)], false)
	if f.Bound == nil {
		r.Sums = f.sums(a.Results)
	}
	return r
}

// kept returns the number of tuples to record in full. Approximate forms record more, because
// checksums cannot be compared within a bound.
func (f *Form) kept() int {
	if f.Bound != nil {
		return 4 * Kept
	}
	return Kept
}

func (f *Form) sums(results []uint64) []uint32 {
	var s []uint32
	for n := Span * len(f.Out); len(results) > 0; results = results[n:] {
		s = append(s, crc32.ChecksumIEEE(f.encode(results[:n], true)))
	}
	return s
}

// encode packs results. If canonical is true, encode replaces NaNs with one NaN, unless the form's
// checksums include payloads.
func (f *Form) encode(results []uint64, canonical bool) []byte {
	var b []byte
	for i, x := range results {
		t := f.Out[i%len(f.Out)]
		if canonical && !f.Payload {
			x = canonicalNaN(t, x)
		}
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], x)
		b = append(b, w[:(bitsOf(t)+7)/8]...)
	}
	return b
}

// Decode unpacks results that encode packed.
func (f *Form) Decode(b []byte) []uint64 {
	var results []uint64
	for len(b) > 0 {
		var w [8]byte
		n := (bitsOf(f.Out[len(results)%len(f.Out)]) + 7) / 8
		copy(w[:], b[:n])
		results, b = append(results, binary.LittleEndian.Uint64(w[:])), b[n:]
	}
	return results
}

// canonicalNaN returns x, or one fixed NaN if x is a NaN of type t. For pairs it replaces each
// element.
func canonicalNaN(t string, x uint64) uint64 {
	if p, ok := pairs[t]; ok && p.bits == 16 && floats[p.elem].exp != 0 {
		return canonicalNaN(p.elem, x&0xffff) | canonicalNaN(p.elem, x>>16)<<16
	}
	f, ok := floats[t]
	if ok && x&(1<<(f.exp+f.mant)-1) > (1<<f.exp-1)<<f.mant {
		return 1<<(f.exp+f.mant) - 1
	}
	return x
}

// onlyNaNs returns x with every number replaced by 0, so that only NaNs remain.
func onlyNaNs(t string, x uint64) uint64 {
	if p, ok := pairs[t]; ok {
		return onlyNaNs(p.elem, x&(1<<p.bits-1)) | onlyNaNs(p.elem, x>>p.bits)<<p.bits
	}
	if f := floats[t]; x&(1<<(f.exp+f.mant)-1) > (1<<f.exp-1)<<f.mant {
		return x
	}
	return 0
}

// Difference describes the first difference between an answer and the record, or returns "" if they
// agree. For approximate results it compares only NaNs.
func (f *Form) Difference(r *Record, a Answer) string {
	in, results := a.Operands, a.Results
	for i, want := range f.Decode(r.First) {
		got, t := results[i], f.Out[i%len(f.Out)]
		if f.Bound != nil {
			got, want = onlyNaNs(t, got), onlyNaNs(t, want)
		}
		if got != want {
			n := len(f.In)
			k := i / len(f.Out)
			return fmt.Sprintf("operands %#x: %s is %#x, recorded is %#x", in[k*n:k*n+n], outRegs[i%len(f.Out)], got, want)
		}
	}
	if f.Bound != nil {
		return ""
	}
	for i, s := range f.sums(results) {
		if s != r.Sums[i] {
			return fmt.Sprintf("tuples %d to %d: the checksum is another", i*Span, i*Span+Span-1)
		}
	}
	return ""
}

// Outside counts the results of an approximate form that are outside its bound, and describes the
// first of them.
func (f *Form) Outside(a Answer) (count int, first string) {
	if f.Bound == nil {
		return 0, ""
	}
	in, n := a.Operands, len(f.In)
	for i, x := range a.Results {
		if s := f.Check(in[i*n:i*n+n], x); s != "" {
			if count++; count == 1 {
				first = s
			}
		}
	}
	return count, first
}

// Encode returns f as the contents of a data file.
func (f *File) Encode() ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := gob.NewEncoder(z).Encode(f); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

// Decode parses the output of Encode.
func Decode(data []byte) (*File, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	f := &File{}
	return f, gob.NewDecoder(bytes.NewReader(all)).Decode(f)
}

// Differences describes each result that differs between two answers. Both must contain all
// results.
func (f *Form) Differences(want, got Answer) []string {
	var found []string
	in, n := want.Operands, len(f.In)
	for i, w := range want.Results {
		k, g := i/len(f.Out), got.Results[i]
		if w != g {
			found = append(found, fmt.Sprintf("%#x: %s: gpu %#x, emulator %#x", in[k*n:k*n+n], outRegs[i%len(f.Out)], w, g))
		}
	}
	return found
}
