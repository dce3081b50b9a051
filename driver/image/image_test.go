package image_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/image"
	"github.com/purecuda/cuda/internal/imagetest"
)

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantError(t testing.TB, err, target error, words ...string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("%v: does not match %v", err, target)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v: does not mention %q", err, w)
		}
	}
}

// A section that has no bytes in the file may have any offset and size. An empty section may have
// any offset.
func TestMemoryWithoutBytesIsNotLookedFor(t *testing.T) {
	for name, data := range map[string][]byte{
		"nothing":                 imagetest.WithSection(0, 1<<40, 1<<40),
		"uninitialised":           imagetest.WithSection(8, 1<<40, 1<<40),
		".nv.global":              imagetest.WithSection(0x70000007, 128, 1<<30),
		".nv.local":               imagetest.WithSection(0x70000009, 128, 1<<30),
		".nv.shared":              imagetest.WithSection(0x7000000a, 128, 1<<30),
		"reserved shared memory":  imagetest.WithSection(0x70000015, 128, 1<<30),
		"no bytes":                imagetest.WithSection(1, 1<<40, 0),
		"no segment":              imagetest.WithSegment(0, 1<<40, 1<<40),
		"a segment without bytes": imagetest.WithSegment(1, 1<<40, 0),
	} {
		if _, err := image.Parse(name, data); err != nil {
			t.Error(err)
		}
	}
	if _, err := image.Parse("launches", must(os.ReadFile("../testdata/launches/launches.cubin"))(t)); err != nil {
		t.Error(err)
	}
	many := imagetest.WithSection(0, 0, 0)
	// This imitates a file that has more sections than its header can count.
	binary.LittleEndian.PutUint16(many[0x3c:], 0)
	many[64+0x20] = 1
	if _, err := image.Parse("many", many); err != nil {
		t.Error(err)
	}
}

// imageFile reads a file from the testdata/images folder of package driver.
func imageFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "images", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestImagesSayWhatIsInThem(t *testing.T) {
	for file, want := range map[string][]string{
		"variants_sm_90.cubin":  {"cubin for sm_90"},
		"old_sm_80.cubin":       {"cubin for sm_80"}, // in the layout before CUDA 13
		"variants_plain.fatbin": {"cubin for sm_90", "PTX 9.0 for sm_90"},
		"variants_size.fatbin":  {"cubin for sm_90", "PTX 9.0 for sm_90"},                    // both are compressed
		"default.fatbin":        {"cubin for sm_75", "cubin for sm_90", "PTX 9.0 for sm_90"}, // PTX compressed with Zstandard
		"speed.fatbin":          {"cubin for sm_75", "cubin for sm_90", "PTX 9.0 for sm_90"}, // PTX compressed with LZ4
		"old.fatbin":            {"cubin for sm_80", "PTX 7.0 for sm_52"},
		"main.cubin":            {"cubin for sm_90"},
		"main.ptx":              {"PTX 8.0 for sm_80"},
	} {
		i := must(image.Parse(file, imageFile(t, file)))(t)
		var got []string
		for _, p := range i.Parts() {
			got = append(got, p.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v has %q, want %q", i, got, want)
		}
	}
	if i := must(image.Parse("", imageFile(t, "main.cubin")))(t); !i.Parts()[0].Relocatable || i.String() != "cubin" {
		t.Errorf("%v, %+v", i, i.Parts())
	}
}

func TestSuffixesOfBinariesAreRead(t *testing.T) {
	old := imagetest.Cubin(0)
	copy(old[7:], "\x33\x07")
	binary.LittleEndian.PutUint32(old[0x30:], 0x5a0d5a)
	specific := imagetest.Cubin(0)
	binary.LittleEndian.PutUint32(specific[0x30:], 100<<8|8)
	future := imagetest.Cubin(0)
	future[8] = 9
	for want, data := range map[string][]byte{
		"cubin for sm_90a":                  old,
		"cubin for sm_100a":                 specific,
		"cubin for an unknown architecture": future,
		"cubin for sm_120a":                 imagetest.Fatbin(imagetest.Entry(2, 120, 1<<20|0x8000, []byte("packed"))),
		"PTX 8.4 for sm_100f":               imagetest.Fatbin(imagetest.Entry(1, 100, 1<<21|0x2000, []byte("packed")), imagetest.Entry(8, 90, 0, nil)),
	} {
		i := must(image.Parse("x", data))(t)
		if p := i.Parts(); len(p) != 1 || p[0].String() != want {
			t.Errorf("%v, want %s", p, want)
		}
	}
}

// These images would make the driver read out of bounds or misinterpret data. They must be rejected
// before they reach the driver.
func TestBrokenImagesAreRefused(t *testing.T) {
	change := func(data []byte, at int, b ...byte) []byte {
		data = slices.Clone(data)
		copy(data[at:], b)
		return data
	}
	uncounted := append(imagetest.WithSection(0, 0, 2), imagetest.WithSection(1, 1<<40, 8)[64:]...)
	uncounted[0x3c] = 0 // the size field of the first section header then holds the number of sections
	cubin, fat := imageFile(t, "variants_sm_90.cubin"), imageFile(t, "variants_plain.fatbin")
	for name, test := range map[string]struct {
		data []byte
		word string
	}{
		"a cut header":              {cubin[:40], "less than its header"},
		"a cut cubin":               {cubin[:len(cubin)-1], "truncated"},
		"a 32-bit cubin":            {change(cubin, 4, 1), "32-bit ELF"},
		"a big-endian cubin":        {change(cubin, 5, 2), "little-endian"},
		"an object file":            {change(cubin, 18, 62, 0), "x86-64"},
		"an object file of arm":     {change(cubin, 18, 183, 0), "arm64"},
		"an object file of another": {change(cubin, 18, 8, 0), "machine 8"},
		"section headers of 0":      {change(cubin, 0x3a, 0, 0), "section headers"},
		"program headers of 0":      {change(cubin, 0x36, 0, 0), "program headers"},
		"names nowhere":             {change(cubin, 0x3e, 0xff, 0xff), "names"},
		"sections at the end":       {change(cubin, 0x28, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "truncated"},
		"one of many sections":      {uncounted, "truncated"},
		"notes nowhere":             {imagetest.WithSection(7, 1<<40, 8), "truncated"},
		"bytes of an unknown type":  {imagetest.WithSection(0x12345678, 1<<40, 8), "truncated"},
		"a call graph nowhere":      {imagetest.WithSection(0x70000001, 1<<40, 8), "truncated"},
		"constants beyond the end":  {imagetest.WithSection(0x70000064, 64, 65), "truncated"},
		"bytes around the end":      {imagetest.WithSection(1, 1<<64-8, 64), "truncated"},
		"a segment of CUDA's own":   {imagetest.WithSegment(0x70000001, 1<<40, 8), "truncated"},
		"sections without end":      {change(imagetest.WithSection(1, 64, 1<<40), 0x3c, 0, 0), "truncated"},
		"names in headers of 0":     {change(change(imagetest.WithSection(1, 64, 0), 0x28, 120), 0x3a, 0, 0, 0, 0xff, 0xff, 0xff), "section headers of 0 bytes"},
		"names in section 65535":    {change(imagetest.WithSection(1, 64, 0), 0x3e, 0xff, 0xff), "section 65535 of 1"},
		"a cut fat binary":          {fat[:len(fat)-1], "truncated"},
		"the head of a fat binary":  {fat[:10], "less than its header"},
		"another version":           {change(fat, 4, 2), "version 2"},
		"a header without size":     {change(fat, 6, 0, 0), "header of 0"},
		"an entry without a header": {change(fat, 20, 0, 0), "entry 0"},
		"an entry that is too long": {change(fat, 24, 0, 0, 0, 1), "entry 0"},
		"too much packed":           {change(fat, 32, 0, 0, 0, 1), "compressed"},
		"a broken cubin inside":     {change(fat, 16+64+18, 62), "entry 0"},
		"rest of an entry":          {imagetest.Fatbin(make([]byte, 8)), "entry 0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := image.Parse("x.bin", test.data)
			wantError(t, err, image.ErrInvalid, "x.bin", test.word)
		})
	}
}

// FuzzImage modifies real images. If a modified image is accepted, its parts must be readable and
// lie within its bytes.
func FuzzImage(f *testing.F) {
	for _, name := range []string{"variants_sm_90.cubin", "old_sm_80.cubin", "variants_plain.fatbin", "variants_size.fatbin", "old.fatbin", "main.ptx"} {
		f.Add(imageFile(f, name))
	}
	f.Add(imagetest.Cubin(0))
	for _, kind := range []uint32{0, 1, 7, 8, 0x70000001, 0x7000000a, 0x12345678} {
		f.Add(imagetest.WithSection(kind, 1<<40, 64))
		f.Add(imagetest.WithSection(kind, 64, 1<<40))
	}
	f.Add(imagetest.WithSegment(1, 1<<40, 64))
	f.Add(imagetest.Fatbin(imagetest.Entry(1, 80, 0, []byte("text")), imagetest.Entry(8, 90, 0, nil)))
	f.Fuzz(func(t *testing.T, data []byte) {
		i, err := image.Parse("fuzzed", data)
		if err != nil {
			if !errors.Is(err, image.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		for _, p := range i.Parts() {
			_ = p.String()
		}
		_, _ = i.Part(image.Arch{Major: 9})
		if n := image.End(i.Bytes()); n > uint64(len(i.Bytes())) {
			t.Fatalf("it ends at %d and has %d bytes", n, len(i.Bytes()))
		}
	})
}
