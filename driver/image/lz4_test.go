package image

import (
	"strings"
	"testing"
)

func TestLZ4(t *testing.T) {
	long := strings.Repeat("ab", 200)
	for name, c := range map[string]struct {
		src  string
		want string
	}{
		"nothing":           {"", ""},
		"literals":          {"\x50hello", "hello"},
		"a match":           {"\x52hello\x05\x00\x10!", "hellohello" + "h!"},
		"a match in itself": {"\x2fab\x02\x00\xff\x78\x10b", long[:15+4+255+120+2] + "b"},
		"many literals":     {"\xf0\x03" + strings.Repeat("x", 18), strings.Repeat("x", 18)},
	} {
		// The input "a match" repeats 2+4 bytes, starting 5 bytes back: all five bytes, and then
		// the first one again.
		got, err := unpackLZ4([]byte(c.src), len(c.want))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
		if _, err := unpackLZ4([]byte(c.src), len(c.want)+1); err == nil {
			t.Errorf("%s: a byte too few is none", name)
		}
	}
	for _, broken := range []string{"\x50hell", "\x10a\x00", "\x10a\x00\x00", "\x10a\x02\x00", "\xf0", "\xf0\xff"} {
		if got, err := unpackLZ4([]byte(broken), 100); err == nil {
			t.Errorf("%q gives %q", broken, got)
		}
	}
}

func FuzzLZ4(f *testing.F) {
	f.Add([]byte("\x52hello\x05\x00\x10!"), 12)
	f.Fuzz(func(t *testing.T, src []byte, size int) {
		got, err := unpackLZ4(src, max(size, 0)&0xfffff)
		if err == nil && len(got) != max(size, 0)&0xfffff {
			t.Fatal(len(got), size)
		}
	})
}
