package isa

import (
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

// Check must accept an instruction generated from every rule. The test tries each choice in each
// place, with operands of the required types and with the required version and target.
func TestEveryRuleAdmitsWhatItSays(t *testing.T) {
	made := 0
	for _, name := range Names() {
		for _, f := range Forms(name) {
			most := 1
			for _, s := range f.slots {
				most = max(most, len(s.choices))
			}
			for _, list := range f.types[:f.nType] {
				most = max(most, len(list))
			}
			for i := range most {
				text, line := instance(f, i)
				m, err := ptx.Parse("", []byte(text))
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				if err := Check(m); err != nil && f.args[0].kind != argAny && !excepted(err) {
					t.Errorf("%s\n  made of %s\n  %v", line, f.text, err)
				}
				made++
			}
		}
	}
	if made < 2000 {
		t.Errorf("only %d instructions", made)
	}
}

// excepted reports whether the cause of the error is a combination of choices that a rule excludes.
func excepted(err error) bool {
	for _, s := range []string{"do not go together", "used together", "are allowed", "has no effect", "is for .global", "branchtargets", "needs a tensor of"} {
		if strings.Contains(err.Error(), s) {
			return true
		}
	}
	return false
}

// instance returns PTX with an instruction of the form. The instruction uses choice i in each
// place.
func instance(f *Form, i int) (text, line string) {
	n := f.need
	raise := func(m need) {
		n.version, n.target, n.own = max(n.version, m.version), max(n.target, m.target), n.own || m.own
	}
	op := f.Name()
	vector := 0
	for _, s := range f.slots {
		c := s.choices[i%len(s.choices)]
		if s.optional && i == 0 {
			continue
		}
		op += "." + c.name
		raise(c.need)
		raise(everywhere[c.name])
		if len(c.name) == 2 && c.name[0] == 'v' {
			vector = int(c.name[1] - '0')
		}
	}
	var types [maxTypes]ptx.Type
	for k, list := range f.types[:f.nType] {
		c := list[i%len(list)]
		op += "." + c.name
		types[k] = c.typ
		raise(c.need)
	}
	var args []string
	for _, a := range f.args {
		args = append(args, operandFor(&a, a.of(&types), vector))
	}
	if strings.HasSuffix(f.Name(), ".tensor") {
		args = tensorOperands(f, op, args)
	}
	if f.until.zero() { // uses generic addresses
		n.target = max(n.target, 20)
	}
	n.version = max(n.version, 10)
	if f.until.zero() {
		n.version = max(n.version, 20)
	}
	target := "sm_10"
	if n.target > 0 {
		target = fmt.Sprintf("sm_%d", n.target)
	}
	if n.own {
		target += "a"
	}
	line = op + " " + strings.Join(args, ", ") + ";"
	return fmt.Sprintf(`.version %d.%d
.target %s
.entry k() {
	.reg .pred %%p<2>; .reg .b8 %%b8_<2>; .reg .b16 %%b16_<2>; .reg .b32 %%b32_<2>; .reg .b64 %%b64_<2>;%s
	%s
L0:
	ret;
}`, n.version/10, n.version%10, target, map[bool]string{true: " .reg .b128 %b128_<2>;"}[n.version >= 83], line), line
}

func operandFor(a *arg, t ptx.Type, vector int) string {
	n := int(a.count)
	if a.vecs {
		n = vector
	}
	if n > 0 {
		b := *a
		b.count, b.vecs = 0, false
		return "{" + strings.TrimSuffix(strings.Repeat(operandFor(&b, t, 0)+", ", n), ", ") + "}"
	}
	switch a.kind {
	case argAddr:
		return "[%b64_1]"
	case argPred:
		return "!%p1"
	case argLabel:
		return "L0"
	case argNone:
		return "_"
	case argImm:
		if a.bounded {
			return fmt.Sprint(a.low)
		}
		return "16"
	case argAny:
		return "%b32_1"
	}
	if t == ptx.Pred {
		if a.pairs {
			return "%p1|%p0"
		}
		return "%p1"
	}
	r := fmt.Sprintf("%%b%d_1", 8*t.Size())
	if a.pairs {
		r += "|%p1"
	}
	return r
}

// tensorOperands adds coordinates to the tensor map and replaces the operands that depend on the
// modifiers. args are the operands of the form.
func tensorOperands(f *Form, op string, args []string) []string {
	dims := int(op[len(f.Name())+1] - '0')
	fixed, at := 0, 0
	for fixed < len(f.args) && f.args[fixed].kind == argAddr {
		fixed++
	}
	if strings.Contains(op, "d.shared") {
		at = 1
	}
	vector := func(reg string, n int) string {
		return "{" + strings.Repeat(reg+", ", max(n-1, 0)) + reg + "}"
	}
	args[at] = "[%b64_1, " + vector("%b32_1", dims) + "]"
	args = args[:fixed]
	if strings.Contains(op+".", ".im2col.") {
		args = append(args, vector("%b16_1", dims-2))
	}
	if strings.Contains(op, ".multicast::cluster") {
		args = append(args, "%b16_1")
	}
	if strings.Contains(op, ".L2::cache_hint") {
		args = append(args, "%b64_1")
	}
	return args
}
