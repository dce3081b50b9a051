package vm

import "strings"

// What the ISA has and this engine has not. A module with such an instruction
// is not wrong, so its refusal says what is missing.

// missing are the names of instructions, by what they are about.
var missing = map[string]string{}

func init() {
	for what, names := range map[string]string{
		"textures and surfaces":               "tex tld4 txq istypep suld sust sured suq",
		"multicast between devices":           "multimem",
		"matrix products of warpgroups":       "wgmma",
		"tensor maps":                         "tensormap",
		"tensor memory":                       "tcgen05",
		"control of the launch from a device": "clusterlaunchcontrol",
		"scalar video instructions":           "vadd vsub vabsdiff vmin vmax vshl vmad vset",
	} {
		for _, n := range strings.Fields(names) {
			missing[n] = what
		}
	}
}

// missing records an instruction that belongs to what is not emulated.
func (l *lowerer) missing(what string) {
	l.fail(CompileUnsupported, "instruction is not supported by the emulator, which has no %s", what)
}

// unsupported records a form that is not here. Whether there is such a form is
// for package isa to say, whose rules the text has passed.
func (l *lowerer) unsupported() {
	l.fail(CompileUnsupported, "form is not supported by the emulator")
}

// unknown records an instruction whose name is not known here.
func (l *lowerer) unknown(name string) {
	if what := missing[name]; what != "" {
		l.missing(what)
		return
	}
	l.fail(CompileUnsupported, "instruction is not supported by the emulator")
}
