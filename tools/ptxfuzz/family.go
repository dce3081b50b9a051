package main

import "strings"

// families maps names of instructions to groups with a similar purpose.
var families = map[string]string{}

func init() {
	for name, list := range map[string]string{
		"integer":    "add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz brev bfind fns bfe bfi szext bmsk dp4a dp2a addc subc madc",
		"float":      "fma rcp sqrt rsqrt sin cos lg2 ex2 tanh testp copysign",
		"compare":    "set setp selp slct",
		"logic":      "and or xor not cnot lop3 shf shl shr prmt",
		"move":       "mov cvta isspacep mapa getctarank stacksave stackrestore alloca",
		"cvt":        "cvt",
		"memory":     "ld ldu st prefetch prefetchu applypriority discard createpolicy multimem tensormap",
		"atomic":     "atom red",
		"control":    "bra brx call ret exit trap brkpt pmevent nanosleep setmaxnreg griddepcontrol",
		"barrier":    "bar barrier membar fence",
		"warp":       "vote shfl match activemask redux elect",
		"async copy": "cp mbarrier",
		"matrix":     "mma wmma wgmma ldmatrix stmatrix movmatrix",
		"texture":    "tex tld4 txq istypep suld sust sured suq",
	} {
		for _, f := range strings.Fields(list) {
			families[f] = name
		}
	}
}

func family(name string) string {
	if f := families[name]; f != "" {
		return f
	}
	return "video"
}
