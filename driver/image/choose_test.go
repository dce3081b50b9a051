package image_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/image"
	"github.com/purecuda/cuda/internal/imagetest"
)

// markedPTX returns a module with a kernel that stores mark.
func markedPTX(version, target string, mark int) []byte {
	return fmt.Appendf(nil, `.version %s
.target %s
.address_size 64
.visible .entry mark(.param .u64 p)
{
	.reg .b64 %%p;
	ld.param.u64 %%p, [p];
	cvta.to.global.u64 %%p, %%p;
	st.global.u32 [%%p], %d;
	ret;
}
`, version, target, mark)
}

func parsed(t testing.TB, name string, data []byte) *image.Image {
	t.Helper()
	return must(image.Parse(name, data))(t)
}

func arch(t testing.TB, name string) image.Arch {
	t.Helper()
	return must(image.ParseArch(name))(t)
}

func TestArchitecturesAreParsed(t *testing.T) {
	for name, want := range map[string]image.Arch{
		"sm_90": {Major: 9}, "compute_75": {Major: 7, Minor: 5}, "sm_90a": {Major: 9, Suffix: 'a'}, "103f": {Major: 10, Minor: 3, Suffix: 'f'},
	} {
		if got := arch(t, name); got != want {
			t.Errorf("%s is %+v", name, got)
		}
	}
	for _, name := range []string{"", "sm_", "sm_9", "sm_a", "sm_90b", "sm_-90", "sm_+90", "ninety", "debug"} {
		_, err := image.ParseArch(name)
		wantError(t, err, image.ErrInvalid, "architecture")
	}
	if s := arch(t, "100f").String(); s != "sm_100f" {
		t.Error(s)
	}
}

// The expected choices follow the sections "Binary Compatibility" and "PTX Compatibility" of the
// CUDA programming guide.
func TestBestImageIsChosen(t *testing.T) {
	set := []*image.Image{
		parsed(t, "p52", markedPTX("7.0", "sm_52", 1)),
		parsed(t, "p90", markedPTX("8.0", "sm_90", 1)),
		parsed(t, "p90a", markedPTX("8.0", "sm_90a", 1)),
		parsed(t, "p100f", markedPTX("8.8", "sm_100f", 1)),
		parsed(t, "c80", imagetest.CubinFor(80<<8|4)),
		parsed(t, "c86", imagetest.CubinFor(86<<8|4)),
		parsed(t, "c90a", imagetest.CubinFor(90<<8|4|8)),
		parsed(t, "fat", imagetest.Fatbin(imagetest.Entry(2, 75, 0x8000, nil), imagetest.Entry(1, 61, 0, []byte("text")))),
	}
	for device, want := range map[string]string{
		"sm_50":  "",
		"sm_52":  "p52",
		"sm_61":  "fat p52",
		"sm_75":  "fat p52",
		"sm_80":  "c80 fat p52",
		"sm_89":  "c86 c80 fat p52",
		"sm_90":  "c90a p90a p90 fat p52",
		"sm_100": "p100f p90 fat p52",
		"sm_103": "p100f p90 fat p52",
		"sm_120": "p90 fat p52",
	} {
		images, err := image.Choose(arch(t, device), set...)
		var names []string
		for _, i := range images {
			names = append(names, i.Name())
		}
		// The fat binary's sm_75 code does not run on sm_80 and sm_89, so these devices use its
		// PTX.
		if got := strings.Join(names, " "); got != want || (want == "") != (err != nil) {
			t.Errorf("%s takes %q (%v), want %q", device, got, err, want)
		}
	}
}

func TestNoImageSaysWhyNot(t *testing.T) {
	set := []*image.Image{
		parsed(t, "new.ptx", markedPTX("8.8", "sm_120", 1)),
		parsed(t, "special.ptx", markedPTX("8.0", "sm_90a", 1)),
		parsed(t, "old.cubin", imagetest.CubinFor(80<<8|4)),
		parsed(t, "empty.fatbin", imagetest.Fatbin()),
	}
	_, err := image.Choose(arch(t, "sm_100"), set...)
	for _, word := range []string{
		"capability 10.0", "new.ptx (PTX): PTX for sm_120 compiles for devices of compute capability 12.0 or newer", "special.ptx", "9.0 only",
		"old.cubin", "from 8.0 up to 8.9", "empty.fatbin (fat binary): it has no code", "add PTX for sm_100 or an older target",
	} {
		wantError(t, err, image.ErrMismatch, word)
	}
	if _, err := image.Choose(arch(t, "sm_90")); !errors.Is(err, image.ErrMismatch) {
		t.Error("of no images:", err)
	}
	if _, err := image.Choose(arch(t, "sm_90"), nil); !errors.Is(err, image.ErrInvalid) {
		t.Error("of a nil image:", err)
	}
}
