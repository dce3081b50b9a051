package gen

import (
	"go/token"
	"strings"
	"unicode"
)

// formats capitalises the names of types that Go names write in capital letters.
var formats = strings.NewReplacer("_bf16", "_BF16", "_tf32", "_TF32")

// exported converts a C or PTX name to an exported Go name: scale_add and scaleAdd
// become ScaleAdd. It returns "" if no character is usable.
func exported(name string) string {
	var b strings.Builder
	name = formats.Replace(name)
	up := true
	for _, r := range name {
		switch {
		case r != '_' && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			if up {
				r = unicode.ToUpper(r)
			}
			b.WriteRune(r)
			up = unicode.IsDigit(r)
		default:
			up = true
		}
	}
	s := b.String()
	if s == "" {
		return ""
	}
	if !unicode.IsLetter(rune(s[0])) {
		return "X" + s
	}
	return s
}

// unexported is like exported, but with the first word in lower case: scaleAdd, ptxText for
// PTXText.
func unexported(name string) string {
	s := []rune(exported(name))
	for i := range s {
		if !unicode.IsUpper(s[i]) || i > 0 && i+1 < len(s) && unicode.IsLower(s[i+1]) {
			break
		}
		s[i] = unicode.ToLower(s[i])
	}
	return string(s)
}

// taken contains the names that the bodies of generated functions use.
var taken = map[string]bool{
	"launcher": true, "launch": true, "args": true, "call": true, "cfg": true, "on": true, "err": true, "driver": true, "unsafe": true,
	"bool": true, "byte": true, "int": true, "uint": true, "string": true, "nil": true, "error": true,
	"int8": true, "int16": true, "int32": true, "int64": true, "uint8": true, "uint16": true, "uint32": true,
	"uint64": true, "uintptr": true, "float32": true, "float64": true, "complex64": true, "complex128": true,
}

// local returns a name for a Go parameter that is neither a keyword nor in taken.
func local(name string) string {
	s := unexported(name)
	if token.IsKeyword(s) || taken[s] {
		return s + "_"
	}
	return s
}

func isName(s string) bool { return token.IsIdentifier(s) }
