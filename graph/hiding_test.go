package graph_test

import (
	"slices"

	"github.com/purecuda/cuda/loader"
)

// hiding is a driver without some of its functions.
type hiding struct {
	loader.Library
	symbols []string
}

func (h hiding) Lookup(symbol string) (loader.Proc, error) {
	if slices.Contains(h.symbols, symbol) {
		return loader.Proc{}, loader.ErrSymbolNotFound
	}
	return h.Library.Lookup(symbol)
}
