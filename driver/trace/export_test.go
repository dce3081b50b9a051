package trace

import "github.com/purecuda/cuda/driver/cu"

// Declaration exports the table that gen.go generates.
var Declaration = declaration

// ByValue reports whether f has an argument that Go and C functions receive in different ways.
func ByValue(f cu.Function) bool { return signatureOf(f).byValue }
