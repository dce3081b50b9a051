package vm

import (
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// form is an opcode's modifiers, by category.
type form struct {
	op     *ptx.Opcode
	types  []ptx.Type
	flags  flag
	round  rounding
	cmp    string // comparison of setp and set, in lower case: "lt", "geu"
	bool   string // "and", "or", "xor"
	space  ptx.Space
	spaces int
	vec    int
	sem    string // "relaxed", "acquire", "release", "acq_rel", "sc", "weak", "volatile", "mmio"
	scope  string // "cta", "cluster", "gpu", "sys"
	rest   []string
}

// flag is a modifier that is either present or absent.
type flag uint32

const (
	flagFtz flag = 1 << iota
	flagSat
	flagApprox
	flagFull
	flagWide
	flagHi
	flagLo
	flagCC
	flagUni
	flagSync
	flagAligned
	flagRelu
	flagNaN
	flagXorSign
	flagAbs
	flagNC
	flagSatFinite
	flagOOB
)

// rounding is a rounding modifier.
type rounding uint8

const (
	roundNone rounding = iota
	roundRN
	roundRZ
	roundRM
	roundRP
	roundRNA
	roundRS
	roundInt // added to the above: .rni, .rzi, .rmi, .rpi
)

var flagNames = map[string]flag{
	"ftz": flagFtz, "sat": flagSat, "approx": flagApprox, "full": flagFull, "wide": flagWide, "hi": flagHi, "lo": flagLo,
	"cc": flagCC, "uni": flagUni, "sync": flagSync, "aligned": flagAligned, "relu": flagRelu, "NaN": flagNaN,
	"abs": flagAbs, "nc": flagNC, "satfinite": flagSatFinite, "oob": flagOOB,
}

var roundNames = map[string]rounding{
	"rn": roundRN, "rz": roundRZ, "rm": roundRM, "rp": roundRP, "rna": roundRNA, "rs": roundRS,
	"rni": roundRN + roundInt, "rzi": roundRZ + roundInt, "rmi": roundRM + roundInt, "rpi": roundRP + roundInt,
}

var comparisons = map[string]bool{
	"eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true, "ls": true, "hs": true,
	"equ": true, "neu": true, "ltu": true, "leu": true, "gtu": true, "geu": true, "num": true, "nan": true,
}

var semantics = map[string]bool{
	"relaxed": true, "acquire": true, "release": true, "acq_rel": true, "sc": true, "weak": true, "volatile": true, "mmio": true,
}

var scopes = map[string]bool{"cta": true, "cluster": true, "gpu": true, "sys": true, "gl": true}

// parseForm sorts an opcode's modifiers into a form. Modifiers that it does not know are in rest.
func parseForm(op *ptx.Opcode) *form {
	f := &form{op: op}
	for _, m := range op.Mods {
		f.add(m)
	}
	return f
}

func (f *form) add(m string) {
	if t := ptx.ParseType(m); t != ptx.NoType {
		f.types = append(f.types, t)
		return
	}
	comparing := f.op.Name == "setp" || f.op.Name == "set"
	if b, ok := flagNames[m]; ok && !(comparing && (m == "lo" || m == "hi")) {
		f.flags |= b
		return
	}
	if r, ok := roundNames[m]; ok && f.round == roundNone {
		f.round = r
		return
	}
	if comparisons[m] || comparing && (m == "lo" || m == "hi") {
		f.cmp = m
		return
	}
	switch m {
	case "and", "or", "xor":
		if comparing {
			f.bool = m
			return
		}
	case "v2":
		f.vec = 2
		return
	case "v4":
		f.vec = 4
		return
	case "v8":
		f.vec = 8
		return
	}
	if semantics[m] {
		f.sem = m
		return
	}
	if scopes[m] {
		f.scope = m
		return
	}
	if s, ok := ptx.ParseSpace(m); ok && (m == s.String() || strings.HasPrefix(m, s.String()+"::")) {
		if f.spaces == 0 {
			f.space = s
		}
		f.spaces++
		f.rest = appendQualified(f.rest, m)
		return
	}
	f.rest = append(f.rest, m)
}

// appendQualified keeps only spaces that say more than their name.
func appendQualified(rest []string, m string) []string {
	switch m {
	case "shared::cluster":
		return append(rest, m)
	}
	return rest
}

// typ returns the last type, which is the instruction's own.
func (f *form) typ() ptx.Type {
	if len(f.types) == 0 {
		return ptx.NoType
	}
	return f.types[len(f.types)-1]
}

func (f *form) has(b flag) bool { return f.flags&b != 0 }

// only reports whether there are no flags other than the given ones, and no unknown modifiers.
func (f *form) only(b flag) bool { return f.flags&^b == 0 && len(f.rest) == 0 }
