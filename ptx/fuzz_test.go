package ptx_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

func seed(f *testing.F) {
	for _, src := range testdata(f) {
		f.Add([]byte(src))
	}
	for _, s := range pathological(200) {
		f.Add([]byte(s))
	}
	f.Add([]byte(header + ".entry k(.param .u64 p) { @!%p bra L; L: st.u32 [p+4], {1, -2.5}; }"))
}

// FuzzParse: no panic; text that parses survives printing, and the signature
// reader sees the same kernels. Each text is tried as it is and as a body.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Add([]byte("x: .branchtargets a, b; add.u32 %r1, {1, _}|p, [a+-4, {b}].unified, t[%r1+2], -3U;"))
	f.Fuzz(func(t *testing.T, src []byte) {
		checkParse(t, src)
		checkParse(t, []byte(header+".entry k() {\n"+string(src)+"\n}"))
	})
}

func checkParse(t *testing.T, src []byte) {
	m, err := ptx.Parse("fuzz", src)
	if m == nil {
		t.Fatal("no module")
	}
	if err != nil {
		_ = err.Error() + errorsOf(t, err).Detail()
		_ = m.String()
		return
	}
	info, err := ptx.Signatures(src)
	if err != nil {
		t.Fatalf("parses, but its signatures do not: %v", err)
	}
	agree(t, m, info)
	roundTrip(t, m)
}

// FuzzSignatures: no panic, always an answer.
func FuzzSignatures(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		info, err := ptx.Signatures(src)
		if info == nil {
			t.Fatal("no info")
		}
		if err != nil {
			_ = err.Error()
		}
		for _, k := range info.Kernels {
			if k.Name == "" {
				t.Error("a kernel without a name")
			}
		}
	})
}

// pathological are texts of about n bytes that a careless parser takes
// quadratic time or a deep stack for.
func pathological(n int) map[string]string {
	fill := func(unit string) string { return strings.Repeat(unit, n/len(unit)+1) }
	in := func(s string) string { return header + ".entry k() {\n" + s }
	return map[string]string{
		"open braces":      in(fill("{")),
		"closed braces":    in(fill("}")),
		"scopes":           in(fill("{}")),
		"missing ends":     in(fill("add.s32 a\n")),
		"errors":           in(fill("5;")),
		"one long line":    in(fill("a b;")),
		"open strings":     in(fill("\"\n")),
		"open comments":    in(fill("/*")),
		"comments":         header + fill("/**/"),
		"comment lines":    header + fill("//\n") + ".entry k();",
		"documented":       header + "/* x */ " + fill(".global .u32 a;"),
		"long comment":     header + "/*" + fill("\n") + "*/" + fill(".global .u32 a;"),
		"blanks":           in(fill("a   ")),
		"blanks, labels":   in(fill("a " + strings.Repeat(" ", 1000) + "\n")),
		"spaced modifiers": in("add" + fill(" .x") + ";"),
		"modifiers":        in("add" + fill(".x") + ";"),
		"new opcodes":      in(fill("add.x") + ";"),
		"expression":       header + ".global .u32 x = 1" + fill("+1") + ";",
		"offsets":          in("ld [a" + fill("+1") + "];"),
		"registers":        in(".reg .u32 a" + fill(",a") + ";" + fill("op a;")),
		"ranges":           in(fill(".reg .u32 r<99999>;") + fill("op r1234567890;")),
		"digits":           in(".reg .u32 r<9>;" + "op r" + fill("1") + ";"),
		"numbers":          in("op " + fill("1")),
		"dots":             in(fill(".")),
		"entries":          header + fill(".entry k();"),
		"entries, errors":  header + fill(".entry k(\n"),
		"dimensions":       header + ".global .u32 x" + fill("[1]") + ";",
		"list":             header + ".global .u32 x[] = {1" + fill(",1") + "};",
		"sections":         header + fill(".section a{}"),
		"open sections":    header + fill(".section a{"),
		"line markers":     header + fill("# 1\n"),
		"not ASCII":        header + fill("é"),
		"at signs":         in(fill("@@\n")),
		"minus":            in("op " + fill("-")),
		"alternatives":     in("op 1" + fill("?1:1") + ";"),
		"functions":        header + fill(".func f(){"),
		"pragmas":          header + ".entry k()" + fill(".pragma \"\";"),
	}
}
