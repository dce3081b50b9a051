package driver_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

// bareCubin is the header of a cubin for sm_90 and room behind it.
func bareCubin(room int) []byte {
	b := make([]byte, 64+room)
	copy(b, "\x7fELF\x02\x01\x01\x41\x08")
	binary.LittleEndian.PutUint16(b[18:], 190)
	binary.LittleEndian.PutUint32(b[0x30:], 90<<8|4)
	return b
}

// fatbinEntryOf is an entry of a fat binary: 1 for PTX, 2 for a cubin.
func fatbinEntryOf(kind uint16, arch uint32, flags uint64, data []byte) []byte {
	padded := append(slices.Clone(data), make([]byte, (8-len(data)%8)%8)...)
	b := make([]byte, 64, 64+len(padded))
	le := binary.LittleEndian
	le.PutUint16(b, kind)
	le.PutUint16(b[2:], 0x101)
	le.PutUint32(b[4:], 64)
	le.PutUint64(b[8:], uint64(len(padded)))
	le.PutUint16(b[24:], 4)
	le.PutUint16(b[26:], 8)
	le.PutUint32(b[28:], arch)
	le.PutUint64(b[40:], flags|0x11)
	return append(b, padded...)
}

func fatbinOf(entries ...[]byte) []byte {
	body := bytes.Join(entries, nil)
	b := make([]byte, 16, 16+len(body))
	copy(b, "\x50\xed\x55\xba\x01\x00\x10\x00")
	binary.LittleEndian.PutUint64(b[8:], uint64(len(body)))
	return append(b, body...)
}

// imageFile is what a compiler made of the sources in testdata/images.
func imageFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "images", name))
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
		"variants_size.fatbin":  {"cubin for sm_90", "PTX 9.0 for sm_90"}, // all compressed
		"old.fatbin":            {"cubin for sm_80", "PTX 7.0 for sm_52"},
		"main.cubin":            {"cubin for sm_90"},
		"main.ptx":              {"PTX 8.0 for sm_80"},
	} {
		i := must(driver.NewImage(file, imageFile(t, file)))(t)
		var got []string
		for _, p := range i.Parts() {
			got = append(got, p.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v has %q, want %q", i, got, want)
		}
	}
	if i := must(driver.NewImage("", imageFile(t, "main.cubin")))(t); !i.Parts()[0].Relocatable || i.String() != "cubin" {
		t.Errorf("%v, %+v", i, i.Parts())
	}
}

func TestSuffixesOfBinariesAreRead(t *testing.T) {
	old := bareCubin(0)
	copy(old[7:], "\x33\x07")
	binary.LittleEndian.PutUint32(old[0x30:], 0x5a0d5a)
	specific := bareCubin(0)
	binary.LittleEndian.PutUint32(specific[0x30:], 100<<8|8)
	future := bareCubin(0)
	future[8] = 9
	for want, data := range map[string][]byte{
		"cubin for sm_90a":                  old,
		"cubin for sm_100a":                 specific,
		"cubin for an unknown architecture": future,
		"cubin for sm_120a":                 fatbinOf(fatbinEntryOf(2, 120, 1<<20|0x8000, []byte("packed"))),
		"PTX 8.4 for sm_100f":               fatbinOf(fatbinEntryOf(1, 100, 1<<21|0x2000, []byte("packed")), fatbinEntryOf(8, 90, 0, nil)),
	} {
		i := must(driver.NewImage("x", data))(t)
		if p := i.Parts(); len(p) != 1 || p[0].String() != want {
			t.Errorf("%v, want %s", p, want)
		}
	}
}

// What the driver would read beyond the image, or take for what it is not, does
// not reach it.
func TestBrokenImagesAreRefused(t *testing.T) {
	change := func(data []byte, at int, b ...byte) []byte {
		data = slices.Clone(data)
		copy(data[at:], b)
		return data
	}
	cubin, fat := imageFile(t, "variants_sm_90.cubin"), imageFile(t, "variants_plain.fatbin")
	for name, test := range map[string]struct {
		data []byte
		word string
	}{
		"a cut header":              {cubin[:40], "less than its header"},
		"a cut cubin":               {cubin[:len(cubin)-1], "cut off"},
		"a 32-bit cubin":            {change(cubin, 4, 1), "32 bits"},
		"a big-endian cubin":        {change(cubin, 5, 2), "little-endian"},
		"an object file":            {change(cubin, 18, 62, 0), "x86-64"},
		"an object file of arm":     {change(cubin, 18, 183, 0), "arm64"},
		"section headers of 0":      {change(cubin, 0x3a, 0, 0), "section headers"},
		"program headers of 0":      {change(cubin, 0x36, 0, 0), "program headers"},
		"names nowhere":             {change(cubin, 0x3e, 0xff, 0xff), "names"},
		"sections at the end":       {change(cubin, 0x28, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "cut off"},
		"a cut fat binary":          {fat[:len(fat)-1], "cut off"},
		"the head of a fat binary":  {fat[:10], "less than its header"},
		"another version":           {change(fat, 4, 2), "version 2"},
		"a header without size":     {change(fat, 6, 0, 0), "header of 0"},
		"an entry without a header": {change(fat, 20, 0, 0), "entry 0"},
		"an entry that is too long": {change(fat, 24, 0, 0, 0, 1), "entry 0"},
		"too much packed":           {change(fat, 32, 0, 0, 0, 1), "compressed"},
		"a broken cubin inside":     {change(fat, 16+64+18, 62), "entry 0"},
		"rest of an entry":          {fatbinOf(make([]byte, 8)), "entry 0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := driver.NewImage("x.bin", test.data)
			wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "x.bin", test.word)
		})
	}
}

func TestBrokenImagesDoNotReachTheDriver(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		cubin, fat := imageFile(t, "variants_sm_90.cubin"), imageFile(t, "variants_plain.fatbin")
		for _, data := range [][]byte{cubin, fat} {
			for n := range len(data) {
				if _, err := c.LoadModule(data[:n]); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
					t.Fatalf("%d of %d bytes: %v", n, len(data), err)
				}
			}
		}
	})
}

// FuzzImage changes real images. Whatever is accepted has parts that can be
// asked, and is within its bytes.
func FuzzImage(f *testing.F) {
	for _, name := range []string{"variants_sm_90.cubin", "old_sm_80.cubin", "variants_plain.fatbin", "variants_size.fatbin", "old.fatbin", "main.ptx"} {
		f.Add(imageFile(f, name))
	}
	f.Add(bareCubin(0))
	f.Add(fatbinOf(fatbinEntryOf(1, 80, 0, []byte("text")), fatbinEntryOf(8, 90, 0, nil)))
	f.Fuzz(func(t *testing.T, data []byte) {
		i, err := driver.NewImage("fuzzed", data)
		if err != nil {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				t.Fatal(err)
			}
			return
		}
		for _, p := range i.Parts() {
			_ = p.String()
		}
		_, _ = i.Part(driver.Arch{Major: 9})
		if n := driver.ImageEnd(i.Bytes()); n > uint64(len(i.Bytes())) {
			t.Fatalf("it ends at %d and has %d bytes", n, len(i.Bytes()))
		}
	})
}
