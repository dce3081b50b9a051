package ptxtest

import (
	_ "embed"
	"strings"
)

//go:embed testdata/instructions.txt
var instructions string

// Pattern is one line of testdata/instructions.txt. It stands for instructions that differ only in
// the parts between < and >.
type Pattern struct {
	Section string
	Version string
	Target  string
	Line    int
	Text    string
}

// surroundings declares the symbols that the patterns use.
const surroundings = `.address_size 64
.global .align 16 .b8 gbl[256];
.const .align 16 .b8 cst[256];
.func (.param .b32 out) callee (.param .b32 in) {
	.reg .b32 %r<2>;
	ld.param.b32 %r1, [in];
	st.param.b32 [out], %r1;
	ret;
}
.visible .entry k(.param .u64 p, .param .align 16 .b8 q[32]) {
	.shared .align 128 .b8 shr[1024];
	.reg .pred %p<8>;
	.reg .b16 %h<8>;
	.reg .b32 %r<16>;
	.reg .b64 %d<16>;
`

// Module returns a complete module that contains the given instructions.
func (p Pattern) Module(forms ...string) string {
	var b strings.Builder
	b.WriteString(".version " + p.Version + "\n.target " + p.Target + "\n" + surroundings)
	if strings.Contains(p.Text, "%q") { // %q requires sm_70
		b.WriteString("\t.reg .b128 %q<4>;\n")
	}
	for _, f := range forms {
		b.WriteString("\t" + f + "\n")
	}
	b.WriteString("done:\n\tret;\ndone2:\n\tret;\n}\n")
	return b.String()
}

// Forms returns the instructions that the pattern stands for.
func (p Pattern) Forms() []string { return choices(p.Text) }

// choices expands all brackets in text.
func choices(text string) []string {
	before, rest, ok := strings.Cut(text, "<")
	if !ok {
		return []string{text}
	}
	options, rest, _ := strings.Cut(rest, ">")
	var out []string
	for _, tail := range choices(rest) {
		for _, o := range strings.Split(options, "|") {
			out = append(out, before+o+tail)
		}
	}
	return out
}

// Instructions returns all patterns, in file order.
func Instructions() []Pattern {
	var out []Pattern
	var at Pattern
	for i, line := range strings.Split(instructions, "\n") {
		switch {
		case strings.HasPrefix(line, "# "):
			at.Section = line[2:]
		case strings.HasPrefix(line, "@ "):
			at.Version, at.Target, _ = strings.Cut(line[2:], " ")
		case line != "" && at.Section != "":
			p := at
			p.Line, p.Text = i+1, line
			out = append(out, p)
		}
	}
	return out
}
