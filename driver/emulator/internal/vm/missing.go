package vm

import "strings"

// Parts of the ISA that this engine lacks. A module with such an instruction is not invalid, so the
// error says what is missing.

// missing maps the names of missing instructions to the feature they belong to.
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

// missing records an instruction of a feature that is not emulated.
func (l *lowerer) missing(what string) {
	l.fail(CompileUnsupported, "instruction is not supported by the emulator, which has no %s", what)
}

// unsupported records a form that is not implemented. Package isa has already checked that the form
// exists.
func (l *lowerer) unsupported() {
	l.fail(CompileUnsupported, "form is not supported by the emulator")
}

// unknown records an instruction whose name is unknown here.
func (l *lowerer) unknown(name string) {
	if what := missing[name]; what != "" {
		l.missing(what)
		return
	}
	l.fail(CompileUnsupported, "instruction is not supported by the emulator")
}
