package corpus_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/purecuda/cuda/internal/ptxtest"
	"github.com/purecuda/cuda/internal/verify/corpus"
	"github.com/purecuda/cuda/ptx"
)

// The parser must accept nvcc's output for each architecture, optimised and not. Printing and
// parsing the text again must yield the same tree, and Signatures must find the same kernels.
func TestCompilersTextRoundTrips(t *testing.T) {
	for _, b := range corpus.Builds {
		t.Run(b.Name, func(t *testing.T) {
			texts, err := b.PTX()
			if err != nil {
				t.Fatal(err)
			}
			if len(texts) < 60 {
				t.Fatalf("only %d texts", len(texts))
			}
			for _, name := range slices.Sorted(maps.Keys(texts)) {
				m, err := ptx.Parse(name+".ptx", []byte(texts[name]))
				if err != nil {
					t.Errorf("%+v", err)
					continue
				}
				info, err := ptx.Signatures([]byte(texts[name]))
				if err != nil {
					t.Errorf("%s: signatures: %+v", name, err)
					continue
				}
				ptxtest.Agree(t, m, info)
				ptxtest.RoundTrip(t, m)
			}
		})
	}
}

// BenchmarkParseCompiled parses nvcc's output for compute_90 file by file, about a megabyte in
// total.
func BenchmarkParseCompiled(b *testing.B) {
	texts, err := corpus.Build{Name: "compute_90", SM: 90}.PTX()
	if err != nil {
		b.Fatal(err)
	}
	size := int64(0)
	for _, text := range texts {
		size += int64(len(text))
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, text := range texts {
			if _, err := ptx.Parse("", []byte(text)); err != nil {
				b.Fatal(err)
			}
		}
	}
}
