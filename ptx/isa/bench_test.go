package isa_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/isa"
)

// BenchmarkCheck measures Check on the largest PTX file in the repository, for comparison
// with the time to parse it.
func BenchmarkCheck(b *testing.B) {
	text, err := os.ReadFile(filepath.Join("..", "kernels", "launchers", "norm.ptx"))
	if err != nil {
		b.Fatal(err)
	}
	m, err := ptx.Parse("norm.ptx", text)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ptx.Parse("norm.ptx", text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := isa.Check(m); err != nil {
				b.Fatal(err)
			}
		}
	})
}
