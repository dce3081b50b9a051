package image_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver/image"
	"github.com/purecuda/cuda/internal/imagetest"
)

func ptxOf(t *testing.T, i *image.Image) ([]byte, error) {
	t.Helper()
	parts := i.Parts()
	n := slices.IndexFunc(parts, func(p image.Part) bool { return p.Kind == image.PTX })
	if n < 0 {
		t.Fatalf("%v has no PTX", i)
	}
	return parts[n].Bytes()
}

// The two fat binaries contain the same PTX with different compression.
func TestPartsAreUncompressed(t *testing.T) {
	zstd := must(ptxOf(t, parsed(t, "default", imageFile(t, "default.fatbin"))))(t)
	lz4 := must(ptxOf(t, parsed(t, "speed", imageFile(t, "speed.fatbin"))))(t)
	for _, p := range parsed(t, "default", imageFile(t, "default.fatbin")).Parts() {
		if data := must(p.Bytes())(t); p.Kind == image.Cubin && p.Size() != uint64(len(data)) {
			t.Errorf("%v has %d bytes, not %d", p, len(data), p.Size())
		}
	}
	if !bytes.Contains(zstd, []byte(".entry scale(")) || !bytes.Equal(zstd, lz4) || bytes.IndexByte(zstd, 0) >= 0 {
		t.Errorf("the PTX is %q and %q", zstd, lz4)
	}
	text := markedPTX("7.0", "sm_52", 1)
	for name, data := range map[string][]byte{"text": text, "text with a NUL": append(bytes.Clone(text), "\x00more"...), "entry": imagetest.Fatbin(imagetest.Entry(1, 52, 0, text))} {
		if got := must(ptxOf(t, parsed(t, name, data)))(t); !bytes.Equal(got, text) {
			t.Errorf("%s is %q", name, got)
		}
		if n := parsed(t, name, data).Parts()[0].Size(); n < uint64(len(text)) {
			t.Errorf("%s has %d bytes", name, n)
		}
	}
	cubin := imageFile(t, "variants_sm_90.cubin")
	if got := must(parsed(t, "cubin", cubin).Parts()[0].Bytes())(t); !bytes.Equal(got, cubin) {
		t.Error("a cubin is not itself")
	}
	inner := must(parsed(t, "plain", imageFile(t, "variants_plain.fatbin")).Parts()[0].Bytes())(t)
	if kind := must(image.Check(inner))(t); kind != image.Cubin {
		t.Errorf("the first entry is %v", kind)
	}
}

func TestPartsThatCannotBeUncompressed(t *testing.T) {
	entry := func(flags, size uint64, data string) []byte {
		e := imagetest.Entry(1, 90, flags, []byte(data))
		binary.LittleEndian.PutUint32(e[16:], uint32(len(data)))
		binary.LittleEndian.PutUint64(e[56:], size)
		return imagetest.Fatbin(e)
	}
	for name, test := range map[string]struct {
		data []byte
		word string
	}{
		"an unknown way":     {entry(0x1000, 4, "text"), "flags 0x1000"},
		"two ways":           {entry(0xa000, 4, "text"), "flags 0xa000"},
		"a terabyte":         {entry(0x8000, 1<<40, "text"), "1099511627776 bytes"},
		"damaged LZ4":        {entry(0x2000, 4, "\xf0"), "damaged"},
		"damaged Zstandard":  {entry(0x8000, 4, "text"), "damaged"},
		"too few bytes":      {entry(0x8000, 4, "\x28\xb5\x2f\xfd\x20\x01\x09\x00\x00x"), "1 bytes instead of 4"},
		"more than is there": {entry(0x8000, 1<<28, "text"), "damaged"},
	} {
		_, err := ptxOf(t, parsed(t, name, test.data))
		wantError(t, err, image.ErrInvalid, "PTX 8.4 for sm_90", test.word)
	}
}

func TestPartsRunOnDevices(t *testing.T) {
	var none image.Part
	if none.RunsOn(image.Arch{Major: 9}) {
		t.Error("no part runs")
	}
	_, err := none.Bytes()
	wantError(t, err, image.ErrInvalid, "zero part", "Image.Parts")
	p := parsed(t, "p90a", markedPTX("8.0", "sm_90a", 1)).Parts()[0]
	if !p.RunsOn(arch(t, "sm_90")) || p.RunsOn(arch(t, "sm_100")) {
		t.Errorf("%v", p)
	}
}

func TestImagesThatAreNone(t *testing.T) {
	var none *image.Image
	if none.Name() != "" || none.Kind() != 0 || none.Parts() != nil || none.Bytes() != nil || none.String() != "nil image" {
		t.Errorf("a nil image is %v", none)
	}
	for word, i := range map[string]*image.Image{"nil image": nil, "zero image": {}} {
		_, err := i.Part(image.Arch{Major: 9})
		wantError(t, err, image.ErrInvalid, word, "image.Parse")
	}
	for kind, want := range map[image.Kind]string{image.PTX: "PTX", image.Object: "object file", image.Archive: "archive", 99: "Kind(99)"} {
		if kind.String() != want {
			t.Error(kind)
		}
	}
}
