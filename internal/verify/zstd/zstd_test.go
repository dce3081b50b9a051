// Package zstd_test tests internal/zstd on the output of the zstd program.
package zstd_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/zstd"
)

// random is a generator whose numbers must never change, because the files in testdata were
// compressed from them.
type random uint64

func (r *random) next(n int) int {
	*r ^= *r << 13
	*r ^= *r >> 7
	*r ^= *r << 17
	return int(uint64(*r) >> 33 % uint64(n))
}

// contents maps the prefix of each file name in testdata to the file's uncompressed contents.
var contents = map[string]func() []byte{
	"empty":  func() []byte { return nil },
	"byte":   func() []byte { return []byte("x") },
	"zeros":  func() []byte { return make([]byte, 300000) },
	"random": func() []byte { return generate(3000, func(r *random) int { return r.next(256) }) },
	"few":    func() []byte { return generate(1000, func(r *random) int { return 'a' + r.next(3) }) },
	"skewed": func() []byte {
		return generate(20000, func(r *random) int { return r.next(1 + r.next(1+r.next(1+r.next(40)))) })
	},
	"words": func() []byte {
		r, b := random(7), []byte(nil)
		var words []string
		for range 120 {
			words = append(words, string(generate(2+r.next(9), func(*random) int { return 'a' + r.next(1+r.next(26)) })))
		}
		for len(b) < 280000 {
			if len(b) > 1000 && r.next(6) > 0 { // repeats earlier bytes
				at := r.next(len(b) - 700)
				b = append(b, b[at:at+20+r.next(600)]...)
			}
			b = append(append(b, words[r.next(1+r.next(len(words)))]...), " \n.,"[r.next(4)])
		}
		return b
	},
}

func generate(n int, f func(*random) int) []byte {
	r := random(88172645463325252)
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(f(&r))
	}
	return b
}

// files returns the files that the zstd program produced. The part of a name after the first dot
// lists the options.
func files(t testing.TB) []string {
	list, err := filepath.Glob("testdata/*.zst")
	if err != nil || len(list) < 18 {
		t.Fatalf("%d files, %v", len(list), err)
	}
	return list
}

func contentOf(file string) []byte {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return contents[name]()
}

func TestFramesOfTheZstdProgram(t *testing.T) {
	var all, packed []byte
	for _, file := range files(t) {
		src := must(os.ReadFile(file))(t)
		want := contentOf(file)
		got, err := zstd.Decode(src, len(want))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v; want %d", file, len(got), err, len(want))
		}
		if len(want) > 0 {
			if _, err := zstd.Decode(src, len(want)-1); !errors.Is(err, zstd.ErrTooLarge) {
				t.Errorf("%s with a byte too few: %v", file, err)
			}
		}
		all, packed = append(all, want...), append(packed, src...)
	}
	if got, err := zstd.Decode(packed, len(all)); err != nil || !bytes.Equal(got, all) {
		t.Errorf("all frames in a row: %d bytes, %v; want %d", len(got), err, len(all))
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Decoding a truncated frame must fail. If a byte of a frame with a checksum changes, decoding must
// fail or return the same contents.
func TestDamagedFrames(t *testing.T) {
	for _, file := range files(t) {
		src, want := must(os.ReadFile(file))(t), contentOf(file)
		step := 1 + len(src)/100
		for n := 0; n < len(src); n += step {
			if got, err := zstd.Decode(src[:n], len(want)); err == nil {
				t.Errorf("%s cut to %d of %d bytes gives %d bytes", file, n, len(src), len(got))
			}
		}
		if strings.Contains(file, "no-check") || len(src) > 40000 {
			continue
		}
		for i := 0; i < len(src); i += step {
			broken := bytes.Clone(src)
			broken[i] ^= byte(1 << (i % 8))
			if got, err := zstd.Decode(broken, len(want)); err == nil && !bytes.Equal(got, want) {
				t.Errorf("%s with byte %d changed gives %d other bytes", file, i, len(got))
			}
		}
	}
}
