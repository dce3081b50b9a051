package ptx_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/internal/ptxtest"
	"github.com/purecuda/cuda/ptx"
)

func seed(f *testing.F) {
	for _, src := range testdata(f) {
		f.Add([]byte(src))
	}
	for _, s := range ptxtest.Checklist() {
		f.Add([]byte(s.Module()))
	}
	for _, s := range pathological(200) {
		f.Add([]byte(s))
	}
	f.Add([]byte(header + ".entry k(.param .u64 p) { @!%p bra L; L: st.u32 [p+4], {1, -2.5}; }"))
}

// FuzzParse checks three things: nothing panics, text that parses still parses after
// printing, and Signatures finds the same kernels. Each input is tried as a module and as
// a body.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Add([]byte("x: .branchtargets a, b; add.u32 %r1, {1, _}|p, [a+-4, {b}].unified, t[%r1+2], -3U;"))
	f.Fuzz(func(t *testing.T, src []byte) {
		checkParse(t, src)
		checkParse(t, []byte(header+".entry k() {\n"+string(src)+"\n}"))
		checkTime(t, src)
	})
}

func checkParse(t *testing.T, src []byte) {
	m, err := ptx.Parse("fuzz", src)
	if m == nil {
		t.Fatal("no module")
	}
	if err != nil {
		checkErrors(t, src, errorsOf(t, err))
		_ = m.String()
		return
	}
	info, err := ptx.Signatures(src)
	if err != nil {
		t.Fatalf("parses, but its signatures do not: %v", err)
	}
	ptxtest.Agree(t, m, info)
	ptxtest.RoundTrip(t, m)
}

// checkErrors checks that each error has a position in the text, and that positions
// increase.
func checkErrors(t *testing.T, src []byte, list ptx.Errors) {
	_ = list.Error() + list.Detail()
	lines := int32(strings.Count(string(src), "\n") + 1)
	for _, e := range list {
		if e.Pos.Line < 1 || e.Pos.Line > lines || e.Pos.Col < 1 {
			t.Errorf("error at %d:%d of %d lines: %v", e.Pos.Line, e.Pos.Col, lines, e)
		}
		if e.Problem == "" && (e.Expected == "" || e.Found == "") {
			t.Errorf("error that says nothing: %+v", e)
		}
	}
}

// speedLimit is measured once per process, because a fuzzer's instrumentation slows the
// parser down.
var speedLimit = sync.OnceValue(slowness)

func checkTime(t *testing.T, src []byte) {
	limit := speedLimit()
	for what, measure := range map[string]func([]byte) time.Duration{"Parse": parseTime, "Signatures": signaturesTime} {
		if d := perKiB(src, limit, measure); d > limit {
			t.Errorf("%s takes %.0f µs/KiB, more than %.0f, for a text of %d bytes", what, micros(d), micros(limit), len(src))
		}
	}
}

// FuzzSignatures checks that Signatures never panics and always returns a ModuleInfo.
func FuzzSignatures(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		info, err := ptx.Signatures(src)
		if info == nil {
			t.Fatal("no info")
		}
		if err != nil {
			checkErrors(t, src, errorsOf(t, err))
		}
		for _, k := range info.Kernels {
			if k.Name == "" {
				t.Error("a kernel without a name")
			}
		}
		checkTime(t, src)
	})
}

// FuzzRoundTrip maps each input byte to a word of the language, so that far more inputs
// parse than with random bytes. If the input parses, printing and parsing it again must not
// change the printed text.
func FuzzRoundTrip(f *testing.F) {
	for _, s := range ptxtest.Checklist() {
		f.Add(inWords(s.Text))
	}
	f.Fuzz(func(t *testing.T, codes []byte) {
		text := fromWords(codes)
		for _, src := range []string{header + text, header + ".entry k() {\n" + text + "\n}"} {
			m, err := ptx.Parse("fuzz", []byte(src))
			if err == nil {
				ptxtest.RoundTrip(t, m)
				continue
			}
			// The tree of invalid text must be printable as well.
			printed := m.String()
			_, _ = ptx.Parse("fuzz", []byte(printed))
		}
		checkTime(t, []byte(text))
	})
}

// words is the vocabulary of FuzzRoundTrip. One byte selects a word, so it has at most
// 256.
var words = strings.Fields(`
; , ( ) { } [ ] < > + - * / % ! ~ & | ^ ? : = @ && || << >> <= >= == != _ . :: ;; @! @@DWARF {} () [] :; 0 1 2 7 8 31 64
0x1F 0b11 017 5U 18446744073709551615 9223372036854775808 1.5 1. .5e-3 1e9 0f3F800000 0d7FF8000000000001 0xff 0xff00
a b x y k L N table r p q i tab f _1 $v WARP_SZ generic function_name inlined_at
%r %r1 %r2 %rd1 %f1 %p1 %p %tid %tid.x %clock64 %envreg3 %warpid
.x .y .b0 .h10 .unified .global .const .shared .local .param .reg .tex .sreg .shared::cta .param::entry .const[2]
.u8 .s16 .u32 .b32 .b64 .b128 .f32 .f64 .f16x2 .pred .texref .samplerref .surfref .v2 .v4 .v8 .align .ptr .managed
.attribute .entry .func .visible .extern .weak .common .alias .file .loc .loc_intermediate .section .pragma .version .target
.address_size .branchtargets .calltargets .callprototype .noreturn .maxntid .reqntid .minnctapersm .maxnreg .language
.explicitcluster .reqnctapercluster .maxclusterrank .blocksareclusters .abi_preserve .nv_intermediate_source_section
.source_begin .source_end "" "s" "nounroll" // /* */ # #line
add ld.global.f32 st setp.lt.and mov.b64 call call.uni brx.idx bra ret cp.async.bulk tex.2d.v4.f32 op ld .f32x2 debug sm_90a
.debug_str 8.0 addr_mode_0 wrap _Z4kernPf %.z .s32.s32 0e 0x 08 $ é`)

// glued contains the words that follow the previous word without a space, such as
// suffixes and second bytes of operators.
var glued = map[string]bool{".x": true, ".y": true, ".b0": true, ".h10": true, ".unified": true, "[": true, ":": true, "=": true}

func fromWords(codes []byte) string {
	var b strings.Builder
	for _, c := range codes {
		w := words[int(c)%len(words)]
		if b.Len() > 0 && !glued[w] {
			b.WriteByte(" \n"[c>>7])
		}
		b.WriteString(w)
	}
	return b.String()
}

// inWords encodes PTX in FuzzRoundTrip's input format. Unknown words become names.
func inWords(text string) []byte {
	index := map[string]byte{}
	for i, w := range words {
		index[w] = byte(i)
	}
	var out []byte
	for _, token := range tokens(text) {
		code, ok := index[token]
		if !ok {
			code = index["x"]
		}
		out = append(out, code)
	}
	return out
}

func tokens(text string) []string {
	for _, c := range []string{";", ",", "(", ")", "{", "}", "[", "]", "<", ">", "|", ":", "@", "!", "+", "-", "="} {
		text = strings.ReplaceAll(text, c, " "+c+" ")
	}
	return strings.Fields(text)
}
