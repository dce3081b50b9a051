package safetensors

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/gputest"
)

// file returns a file with the given header and n bytes of data.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range n {
		b = append(b, byte(i))
	}
	return b
}

const two = `{"__metadata__":{"format":"pt"},` +
	`"b":{"dtype":"F32","shape":[],"data_offsets":[8,12]},` +
	`"none":{"dtype":"F16","shape":[3,0],"data_offsets":[8,8]},` +
	`"a":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}}  `

func TestTensorsAreFound(t *testing.T) {
	f, err := Parse(file(two, 12))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Names(); !reflect.DeepEqual(got, []string{"a", "b", "none"}) || f.Metadata["format"] != "pt" {
		t.Errorf("names %q, metadata %q", got, f.Metadata)
	}
	a, ok := f.Tensor("a")
	if !ok || a.Name != "a" || a.Type != BF16 || !reflect.DeepEqual(a.Shape, []int{2, 2}) || !bytes.Equal(a.Data, []byte{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("a: %+v, %t", a, ok)
	}
	b, _ := f.Tensor("b")
	if list, err := b.Float32s(); err != nil || len(list) != 1 || math.Float32bits(list[0]) != 0x0b0a0908 {
		t.Errorf("b: %v, %v", list, err)
	}
	if _, ok := f.Tensor("c"); ok {
		t.Error("there is no c")
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	one := func(member string) []byte { return file(`{"x":`+member+`}`, 8) }
	for want, data := range map[string][]byte{
		"too few":                     {1, 2, 3},
		"is this a safetensors file":  []byte("<!doctype html><title>404</title>"),
		"does not begin with '{'":     file(` {}`, 0),
		"header of 2":                 file(`{}`, 0)[:9],
		"header: unexpected":          file(`{`, 0),
		"something follows":           file(`{}{}`, 0),
		"invalid character":           file(`{"x":}`, 0),
		`"x" is there twice`:          file(`{"x":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"x":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`, 1),
		"__metadata__ is there twice": file(`{"__metadata__":{},"__metadata__":{}}`, 0),
		": __metadata__ is":           file(`{"__metadata__":null,"__metadata__":{}}`, 0),
		"it has no shape":             one(`{"dtype":"F32","data_offsets":[0,4]}`),
		`"x": it has no shape`:        one(`{"dtype":"F32","shape":null,"data_offsets":[0,4]}`),
		"null is no number":           one(`{"dtype":"F32","shape":[null],"data_offsets":[0,0]}`),
		"shape is there twice":        one(`{"dtype":"F32","shape":[3],"shape":[2],"data_offsets":[0,8]}`),
		`"x": dtype is there twice`:   one(`{"dtype":"F16","shape":[2],"data_offsets":[0,8],"dtype":"F32"}`),
		`"x": its type ""`:            one(`{"DTYPE":"F32","shape":[2],"data_offsets":[0,8]}`),
		"no object describes it":      one(`null`),
		"__metadata__: json":          file(`{"__metadata__":{"a":1}}`, 0),
		"not two numbers":             one(`{"dtype":"F32","shape":[2],"data_offsets":[0]}`),
		"data_offsets are not":        one(`{"dtype":"F32","shape":[2]}`),
		"not within the 8":            one(`{"dtype":"F32","shape":[3],"data_offsets":[0,12]}`),
		"bytes 8 to 0":                one(`{"dtype":"F32","shape":[2],"data_offsets":[8,0]}`),
		`type "F4"`:                   one(`{"dtype":"F4","shape":[2],"data_offsets":[0,8]}`),
		"does not take the 8 bytes":   one(`{"dtype":"F32","shape":[3],"data_offsets":[0,8]}`),
		"shape [4294967296 429496":    one(`{"dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,8]}`),
		"is too large":                file(`{"x":{"dtype":"F32","shape":[0,18446744073709551615],"data_offsets":[0,0]}}`, 0),
		"cannot unmarshal number -2":  one(`{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}`),
		"end at byte 4 of the 8":      one(`{"dtype":"F32","shape":[],"data_offsets":[0,4]}`),
		"begins at byte 4":            one(`{"dtype":"F32","shape":[],"data_offsets":[4,8]}`),
		"overlap":                     file(`{"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4),
	} {
		if _, err := Parse(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: it says %v, not %q", data, err, want)
		}
	}
}

// The limit on the length of a header must be exactly that of the format's own reader.
func TestHeadersHaveALimit(t *testing.T) {
	data := make([]byte, prefix+maxHeader+1)
	for n, want := range map[uint64]string{100_000_000: "does not begin with '{'", 100_000_001: "100000000 is the most"} {
		binary.LittleEndian.PutUint64(data, n)
		if _, err := Parse(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a header of %d bytes: %v", n, err)
		}
	}
}

func TestMembersOfLaterVersionsAreLeftOut(t *testing.T) {
	f, err := Parse(file(`{"__metadata__":null,"x":{"dtype":"U8","new":{"a":[1]},"shape":[],"data_offsets":[0,1]}}`, 1))
	if err != nil {
		t.Fatal(err)
	}
	if x, ok := f.Tensor("x"); !ok || len(x.Data) != 1 || len(x.Shape) != 0 || f.Metadata != nil {
		t.Errorf("%+v, metadata %v", x, f.Metadata)
	}
}

func TestHalvesAreConverted(t *testing.T) {
	for bits, want := range map[uint16]float32{
		0: 0, 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 1: 0x1p-24, 0x8001: -0x1p-24, 0x03ff: 1023 * 0x1p-24, 0x0400: 0x1p-14,
		0x7c00: float32(math.Inf(1)), 0xfc00: float32(math.Inf(-1)),
	} {
		d := Tensor{Type: F16, Data: binary.LittleEndian.AppendUint16(nil, bits)}
		if list, err := d.Float32s(); err != nil || list[0] != want {
			t.Errorf("%04x is %v, not %v (%v)", bits, list, want, err)
		}
	}
}

func TestOtherTypesAreRefused(t *testing.T) {
	if _, err := (Tensor{Name: "x", Type: "I64"}).Float32s(); err == nil || !strings.Contains(err.Error(), `"x" has elements of type I64`) {
		t.Error(err)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	var b bytes.Buffer
	list := []float32{1, -2.5, float32(math.Inf(1)), 0x1p-149, 0, 7}
	tensors := []Tensor{FromFloat32s("z", list, 2, 3), FromFloat32s("a", nil, 0), FromFloat32s("scalar", list[:1])}
	if err := Write(&b, map[string]string{"k": "v"}, tensors); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(gputest.TempDir(t), "x.safetensors")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	z, _ := f.Tensor("z")
	if got, err := z.Float32s(); err != nil || !reflect.DeepEqual(got, list) || !reflect.DeepEqual(z.Shape, []int{2, 3}) {
		t.Errorf("%v %v, %v", z.Shape, got, err)
	}
	if len(f.Names()) != 3 || !maps.Equal(f.Metadata, map[string]string{"k": "v"}) {
		t.Errorf("%q, %q", f.Names(), f.Metadata)
	}
	if err := Write(&b, nil, append(tensors, tensors[0])); err == nil {
		t.Error("a name was written twice")
	}
	if _, err := Read(path + "x"); !os.IsNotExist(err) {
		t.Error(err)
	}
	if err := os.WriteFile(path, b.Bytes()[:20], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.HasPrefix(err.Error(), path+": safetensors: ") {
		t.Error(err)
	}
}

// For any input that is accepted, the tensors must be within the file, and writing and reading the
// file again must yield the same contents.
func FuzzSafetensors(f *testing.F) {
	f.Add(file(two, 12))
	f.Add(file(`{}`, 0))
	f.Add(file(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8))
	f.Add(file(`{"x":{"dtype":"F16","shape":[0,18446744073709551615],"data_offsets":[0,0]}}`, 0))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, '{'})
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := Parse(data)
		if err != nil {
			return
		}
		var tensors []Tensor
		total := 0
		for _, name := range a.Names() {
			x, _ := a.Tensor(name)
			total += len(x.Data)
			if n := elements(x) * x.Type.Size(); n != len(x.Data) {
				t.Errorf("%q has %d bytes for %d", name, len(x.Data), n)
			}
			if list, err := x.Float32s(); err == nil && len(list) != elements(x) {
				t.Errorf("%q has %d elements, not %d", name, len(list), elements(x))
			}
			tensors = append(tensors, x)
		}
		if total > len(data) {
			t.Errorf("tensors of %d bytes in a file of %d", total, len(data))
		}
		var out bytes.Buffer
		if err := Write(&out, a.Metadata, tensors); err != nil {
			t.Fatal(err)
		}
		b, err := Parse(out.Bytes())
		if err != nil {
			t.Fatalf("%v: %q", err, out.Bytes())
		}
		for _, x := range tensors {
			y, ok := b.Tensor(x.Name)
			if !ok || y.Type != x.Type || !reflect.DeepEqual(y.Shape, x.Shape) || !bytes.Equal(x.Data, y.Data) {
				t.Errorf("%+v was read again as %+v", x, y)
			}
		}
	})
}

func elements(t Tensor) int {
	n := 1
	for _, extent := range t.Shape {
		n *= extent
	}
	return n
}
