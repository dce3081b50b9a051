package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	prefix    = 8           // number of bytes of the length that precedes the header
	maxHeader = 100_000_000 // limit of the format's own reader
	metadata  = "__metadata__"
)

// Parse parses the contents of a file. The tensors share memory with data.
func Parse(data []byte) (*File, error) {
	if len(data) < prefix {
		return nil, fmt.Errorf("safetensors: %d bytes are too few for the length of a header", len(data))
	}
	n := binary.LittleEndian.Uint64(data)
	data = data[prefix:]
	if n > maxHeader || n > uint64(len(data)) {
		return nil, fmt.Errorf("safetensors: a header of %d bytes does not fit: %d follow its length, and %d is the most; is this a safetensors file?",
			n, len(data), maxHeader)
	}
	header, data := data[:n], data[n:]
	if len(header) == 0 || header[0] != '{' {
		return nil, errors.New("safetensors: the header does not begin with '{'")
	}
	f := &File{tensors: make(map[string]Tensor)}
	if err := f.header(header, data); err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	if err := f.covers(len(data)); err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return f, nil
}

// header reads the header's members one by one, to detect duplicate names.
func (f *File) header(header, data []byte) error {
	d := json.NewDecoder(bytes.NewReader(header))
	if _, err := d.Token(); err != nil { // the '{'
		return broken(err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return broken(err)
		}
		if err := f.member(name.(string), d, data); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil { // the '}'
		return broken(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("header: something follows its '}'")
	}
	return nil
}

// broken adds context to a JSON error in the header.
func broken(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("header: %w", err)
}

func (f *File) member(name string, d *json.Decoder, data []byte) error {
	if name == metadata {
		if f.seenMetadata {
			return fmt.Errorf("header: %s is there twice", metadata)
		}
		f.seenMetadata = true // Metadata itself may be null
		if err := d.Decode(&f.Metadata); err != nil {
			return fmt.Errorf("header: %s: %w", metadata, err)
		}
		return nil
	}
	if _, twice := f.tensors[name]; twice {
		return fmt.Errorf("tensor %q is there twice", name)
	}
	var e entry
	if err := d.Decode(&e); err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	t, err := e.tensor(data)
	if err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	t.Name = name
	f.tensors[name] = t
	return nil
}

// entry is a tensor's entry in the header.
type entry struct {
	Type    Type
	Shape   *numbers
	Offsets *numbers // begin and end, relative to the end of the header
}

// UnmarshalJSON reads the members one by one, because encoding/json accepts duplicate names
// and ignores case.
func (e *entry) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return errors.Join(errors.New("no object describes it"), err)
	}
	seen := map[json.Token]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("%s is there twice", name)
		}
		seen[name] = true
		var value any = new(json.RawMessage) // ignored: later versions may add members
		switch name {
		case "dtype":
			value = &e.Type
		case "shape":
			value = &e.Shape
		case "data_offsets":
			value = &e.Offsets
		}
		if err := d.Decode(value); err != nil {
			return err
		}
	}
	return nil
}

// numbers is a list of numbers that rejects null, which encoding/json would read as 0.
type numbers []uint64

func (n *numbers) UnmarshalJSON(text []byte) error {
	var list []*uint64
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*n = make(numbers, len(list))
	for i, v := range list {
		if v == nil {
			return errors.New("null is no number")
		}
		(*n)[i] = *v
	}
	return nil
}

func (e entry) tensor(data []byte) (t Tensor, err error) {
	if e.Offsets == nil || len(*e.Offsets) != 2 {
		return t, errors.New("data_offsets are not two numbers")
	}
	if e.Shape == nil {
		return t, errors.New("it has no shape")
	}
	begin, end, shape := (*e.Offsets)[0], (*e.Offsets)[1], *e.Shape
	if begin > end || end > uint64(len(data)) {
		return t, fmt.Errorf("bytes %d to %d are not within the %d of the data", begin, end, len(data))
	}
	size := e.Type.Size()
	if size == 0 {
		return t, fmt.Errorf("its type %q is none that is known", e.Type)
	}
	if want, ok := volume(uint64(size), shape); !ok || want != end-begin {
		return t, fmt.Errorf("%s of shape %d does not take the %d bytes that it has", e.Type, shape, end-begin)
	}
	t = Tensor{Type: e.Type, Data: data[begin:end:end], begin: begin}
	for _, n := range shape {
		if n > 1<<62 {
			return t, fmt.Errorf("the shape %d is too large", shape)
		}
		t.Shape = append(t.Shape, int(n))
	}
	return t, nil
}

// volume returns the size in bytes of a tensor whose elements have the given size. It returns false
// if a file cannot be that large.
func volume(size uint64, shape []uint64) (uint64, bool) {
	if slices.Contains(shape, 0) {
		return 0, true
	}
	for _, n := range shape {
		if size > 1<<62/n {
			return 0, false
		}
		size *= n
	}
	return size, true
}

// covers returns an error unless the tensors fill n bytes without gaps or overlaps, as the
// format requires.
func (f *File) covers(n int) error {
	var list []Tensor
	for _, name := range f.Names() {
		list = append(list, f.tensors[name])
	}
	slices.SortStableFunc(list, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(len(a.Data), len(b.Data)))
	})
	at := uint64(0)
	for _, t := range list {
		if t.begin != at {
			return fmt.Errorf("tensor %q begins at byte %d of the data, where %d is expected: tensors overlap or leave a gap", t.Name, t.begin, at)
		}
		at += uint64(len(t.Data))
	}
	if at != uint64(n) {
		return fmt.Errorf("the tensors end at byte %d of the %d of the data", at, n)
	}
	return nil
}
