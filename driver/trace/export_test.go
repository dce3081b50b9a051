package trace

import "github.com/purecuda/cuda/driver/cu"

// Declaration is the table that gen.go writes.
var Declaration = declaration

// ByValue reports whether Go and C functions receive some argument of f in different ways.
func ByValue(f cu.Function) bool { return signatureOf(f).byValue }
