package zstd_test

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/zstd"
)

// frame builds a frame from its magic number, its header and its blocks.
func frame(parts ...string) []byte {
	return []byte("\x28\xb5\x2f\xfd" + strings.Join(parts, ""))
}

var handMade = map[string]struct {
	src  []byte
	want string
	err  error
}{
	"a raw block":                   {frame("\x20\x03", "\x19\x00\x00abc"), "abc", nil},
	"a block that repeats":          {frame("\x20\x05", "\x2b\x00\x00z"), "zzzzz", nil},
	"two blocks":                    {frame("\x20\x05", "\x18\x00\x00abc", "\x13\x00\x00d"), "abcdd", nil},
	"a window and no size":          {frame("\x00\x00", "\x19\x00\x00abc"), "abc", nil},
	"nothing in a window":           {frame("\x00\x00", "\x01\x00\x00"), "", nil},
	"a dictionary of number 0":      {frame("\x21\x00\x03", "\x19\x00\x00abc"), "abc", nil},
	"a skippable frame":             {[]byte("\x5a\x2a\x4d\x18\x02\x00\x00\x00??" + string(frame("\x20\x01", "\x09\x00\x00a"))), "a", nil},
	"stored literals":               {frame("\x00\x00", "\x2d\x00\x00", "\x18abc\x00"), "abc", nil},
	"a literal that repeats":        {frame("\x00\x00", "\x1d\x00\x00", "\x19a\x00"), "aaa", nil},
	"a match":                       {frame("\x00\x00", "\x55\x00\x00", "\x18abc", "\x01\x54", "\x03\x02\x00", "\x06"), "abcabc", nil},
	"a match too far back":          {frame("\x00\x00", "\x55\x00\x00", "\x18abc", "\x01\x54", "\x03\x02\x00", "\x07"), "", zstd.ErrDamaged},
	"too long":                      {frame("\x20\x65", "\x2b\x03\x00z"), "", zstd.ErrTooLarge},
	"too long, unstated":            {frame("\x00\x00", "\x2b\x03\x00z"), "", zstd.ErrTooLarge},
	"a block beyond the window":     {frame("\x00\x00", "\x0b\x20\x00z"), "", zstd.ErrDamaged},
	"shorter than stated":           {frame("\x20\x06", "\x2b\x00\x00z"), "", zstd.ErrDamaged},
	"longer than stated":            {frame("\x20\x05", "\x28\x00\x00zzzzz", "\x09\x00\x00z"), "", zstd.ErrDamaged},
	"a dictionary":                  {frame("\x21\x07\x03", "\x19\x00\x00abc"), "", zstd.ErrDictionary},
	"a reserved bit":                {frame("\x28\x03", "\x19\x00\x00abc"), "", zstd.ErrDamaged},
	"a reserved block":              {frame("\x20\x03", "\x1f\x00\x00abc"), "", zstd.ErrDamaged},
	"a wrong checksum":              {frame("\x24\x03", "\x19\x00\x00abc", "\x00\x00\x00\x00"), "", zstd.ErrDamaged},
	"no checksum":                   {frame("\x24\x03", "\x19\x00\x00abc"), "", zstd.ErrDamaged},
	"something behind":              {append(frame("\x20\x03", "\x19\x00\x00abc"), 0), "", zstd.ErrDamaged},
	"something behind that is long": {append(frame("\x20\x03", "\x19\x00\x00abc"), "plain"...), "", zstd.ErrDamaged},
	"nothing":                       {nil, "", zstd.ErrDamaged},
	"literals without a table":      {frame("\x00\x00", "\x2d\x00\x00", "\x33\x40\x00\x01\x00"), "", zstd.ErrDamaged},
	"tables that were not there":    {frame("\x00\x00", "\x3d\x00\x00", "\x18abc", "\x01\xfc\x01"), "", zstd.ErrDamaged},
	"bytes behind the literals":     {frame("\x00\x00", "\x35\x00\x00", "\x18abc", "\x00\x00"), "", zstd.ErrDamaged},
}

func TestHandMadeFrames(t *testing.T) {
	for name, c := range handMade {
		got, err := zstd.Decode(c.src, 100)
		if string(got) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v; want %q, %v", name, got, err, c.want, c.err)
		}
	}
}

// A frame of a few bytes that claims a huge size must not allocate memory for it.
func TestBombs(t *testing.T) {
	huge := frame("\xe0\x00\x00\x00\x00\x00\x01\x00\x00", "\x02\x00\x10z") // 2^40 bytes, a block of 128 KiB
	if _, err := zstd.Decode(huge, 1<<30); !errors.Is(err, zstd.ErrTooLarge) {
		t.Errorf("2^40 bytes are stated: %v", err)
	}
	var blocks []string
	for range 100 {
		blocks = append(blocks, "\x02\x00\x10z")
	}
	long := frame("\x00\x88", strings.Join(blocks, "")) // a window of 128 MiB and blocks of 12.5 MiB in total
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := zstd.Decode(long, 1<<20)
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	if !errors.Is(err, zstd.ErrTooLarge) || allocated > 8<<20 {
		t.Errorf("%d bytes were allocated for a limit of 1 MiB, %v", allocated, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range handMade {
		f.Add(c.src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		const limit = 1 << 20
		got, err := zstd.Decode(src, limit)
		if len(got) > limit || err != nil && got != nil {
			t.Fatal(len(got), err)
		}
		if err == nil {
			if again, err := zstd.Decode(src, len(got)); err != nil || !bytes.Equal(again, got) {
				t.Fatal(err)
			}
		}
	})
}
