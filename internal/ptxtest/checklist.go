// Package ptxtest contains PTX that the tests of several packages share.
package ptxtest

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed testdata/checklist.txt
var checklist string

// Snippet is an entry of testdata/checklist.txt, which shows one construct of the ISA:
//
//	== name | version [target{,option}] [module] [refused]
//	text
//
// The text is inserted into the kernel that prelude opens. With "module", the text directly follows
// the header instead. "refused" marks text that the ISA allows, or once allowed, but that the
// assembler of CUDA 11.8 rejects.
type Snippet struct {
	Name    string
	Version string // the .version that introduced it
	Target  string // the .target with its options
	Line    int    // line of the heading
	Refused bool
	Text    string
	whole   bool
}

// prelude declares the registers and symbols that the snippets use.
const prelude = `
.global .align 16 .b8 gbl[256];
.const .align 16 .b8 cst[256];
.visible .entry k(.param .u64 p, .param .align 16 .b8 q[32]) {
	.shared .align 128 .b8 shr[1024];
	.local .align 16 .b8 loc[64];
	.reg .pred %p<8>;
	.reg .b16 %h<24>;
	.reg .b32 %r<48>;
	.reg .b64 %rd<24>;
	.reg .f32 %f<48>;
	.reg .f64 %fd<48>;
`

// Module returns a complete module that contains the snippet.
func (s Snippet) Module() string {
	head := ".version " + s.Version + "\n.target " + s.Target + "\n.address_size 64\n"
	if s.whole {
		return head + s.Text
	}
	return head + prelude + s.Text + "\n\tret;\n}\n"
}

// Arch returns the target without its options.
func (s Snippet) Arch() string {
	arch, _, _ := strings.Cut(s.Target, ",")
	return arch
}

// Checklist returns every snippet, in file order.
func Checklist() []Snippet {
	var out []Snippet
	for i, line := range strings.Split(checklist, "\n") {
		heading, ok := strings.CutPrefix(line, "== ")
		switch {
		case ok:
			out = append(out, snippet(heading, i+1))
		case len(out) > 0:
			out[len(out)-1].Text += line + "\n"
		}
	}
	return out
}

func snippet(heading string, line int) Snippet {
	name, flags, _ := strings.Cut(heading, " | ")
	words := strings.Fields(flags)
	if len(words) == 0 {
		panic(fmt.Sprintf("checklist.txt:%d: a heading is \"== name | version ...\"", line))
	}
	s := Snippet{Name: name, Version: words[0], Target: "sm_75", Line: line}
	for _, w := range words[1:] {
		switch w {
		case "module":
			s.whole = true
		case "refused":
			s.Refused = true
		default:
			s.Target = w
		}
	}
	return s
}
