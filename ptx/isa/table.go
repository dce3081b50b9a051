package isa

import (
	"fmt"
	"strings"
)

// The table of the PTX ISA has one rule per line:
//
//	names ; modifiers ; operands ; version/target ; rules
//
// Modifiers: a|b is a place for one of two modifiers, [a|b] an optional place, T=… a place for a
// type. Types must be in the given order, but modifiers may be in any order. $x refers to a list
// below. a@7.8/90 requires PTX 7.8 and sm_90. …/90a requires sm_90a or a target with a higher
// number.
//
// Operands: d is a destination register, s a register or constant, r a register, i a constant, a an
// address, p a predicate, l a label, n only "_", x anything. After ":", the type follows. T, U, V
// and X are the types of the modifiers in order, and W is twice the size of T. Flags follow:
//
//   - ~ allows wider registers, + special registers.
//   - & allows addresses of variables, && also as .s64.
//   - ? makes the operand optional, _ allows "_".
//   - ! allows a logical negation, - an arithmetic one.
//   - | allows a predicate after the operand, ^ requires one.
//   - # forbids packed registers.
//   - *4 is a vector of four, *v a vector of the length in the .v modifier.
//   - (0..15) are the bounds of a constant, %16 requires a multiple of 16.
//   - =1 allows a byte or half selector, =2 and =4 one for each lane.
//
// A version and target after < removed the form.
var sources = []string{tableInteger, tableFloat, tableCompare, tableMove, tableMemory, tableAtomic, tableControl, tableWarp, tableAsync, tableMatrix, tableVideo, tableTexture}

// shapes returns the shapes of warpgroup products of depth k.
func shapes(k int) string {
	var out []string
	for n := 8; n <= 256; n += 8 {
		out = append(out, fmt.Sprintf("m64n%dk%d", n, k))
	}
	return strings.Join(out, "|")
}

// lists maps the name of a set of modifiers, as in $round, to its modifiers.
var lists = map[string]string{
	"round":  "rn|rz|rm|rp",
	"int":    "u16|s16|u32|s32|u64|s64",
	"cmp":    "eq|ne|lt|le|gt|ge",
	"fcmp":   "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan",
	"bool":   "and|or|xor",
	"any":    "u8|s8|u16|s16|u32|s32|u64|s64",
	"iround": "rni|rzi|rmi|rpi",
	"scope":  "cta|cluster@7.8/90|gpu|sys",
	"shared": "shared|shared::cta@7.8|shared::cluster@7.8/90",
	"word":   "b16|u16|s16|b32|u32|s32|f32|b64|u64|s64|f64",
	"mem":    "b8|u8|s8|b16|u16|s16|b32|u32|s32|f32|b64|u64|s64|f64",
	"m64k8":  shapes(8), "m64k16": shapes(16), "m64k32": shapes(32), "m64k64": shapes(64), "m64k256": shapes(256),
}

const tableInteger = `
add,sub ; T=$int ; d:T s:T s:T
add,sub ; sat T=s32 ; d:T s:T s:T
add ; T=u16x2|s16x2 ; d:T s:T s:T ; 8.0/90
add,sub ; cc T=u32|s32|u64@4.3|s64@4.3 ; d:T s:T s:T ; 1.2
addc,subc ; T=u32|s32|u64|s64 ; d:T s:T s:T ; 1.2
addc,subc ; cc T=u32|s32|u64@4.3|s64@4.3 ; d:T s:T s:T ; 1.2
mul.lo,mul.hi ; T=$int ; d:T s:T s:T
mul.wide ; T=u16|s16|u32|s32 ; d:W s:T s:T
mad.lo,mad.hi ; T=$int ; d:T s:T s:T s:T
mad.wide ; T=u16|s16|u32|s32 ; d:W s:T s:T s:W
mad.hi ; sat T=s32 ; d:T s:T s:T s:T
mad.lo,mad.hi ; cc T=u32|s32|u64@4.3|s64@4.3 ; d:T s:T s:T s:T ; 3.0/20
madc.lo,madc.hi ; T=u32|s32|u64|s64 ; d:T s:T s:T s:T ; 3.0/20
madc.lo,madc.hi ; cc T=u32|s32|u64@4.3|s64@4.3 ; d:T s:T s:T s:T ; 3.0/20
mul24.lo,mul24.hi ; T=u32|s32 ; d:T s:T s:T
mad24.lo,mad24.hi ; T=u32|s32 ; d:T s:T s:T s:T
mad24.hi ; sat T=s32 ; d:T s:T s:T s:T
sad ; T=$int ; d:T s:T s:T s:T
div,rem ; T=$int ; d:T s:T s:T
abs,neg ; T=s16|s32|s64 ; d:T s:T
min,max ; T=$int ; d:T s:T s:T
min,max ; [relu] T=s16x2 ; d:T s:T s:T ; 8.0/90
min,max ; T=u16x2 ; d:T s:T s:T ; 8.0/90
min,max ; relu T=s32 ; d:T s:T s:T ; 8.0/90
popc,clz ; T=b32|b64 ; d:u32# s:T ; 2.0/20
brev ; T=b32|b64 ; d:T s:T ; 2.0/20
bfind ; [shiftamt] T=u32|s32|u64|s64 ; d:u32# s:T ; 2.0/20
fns ; T=b32 ; d:T s:b32 s:b32 s:s32 ; 6.0/30
bfe ; T=u32|s32|u64|s64 ; d:T s:T s:u32(0..255)# s:u32(0..255)# ; 2.0/20
bfi ; T=b32|b64 ; d:T s:T s:T s:u32(0..255)# s:u32(0..255)# ; 2.0/20
szext ; clamp|wrap T=u32|s32 ; d:T s:T s:u32# ; 7.6/70
bmsk ; clamp|wrap T=b32 ; d:T s:u32# s:u32# ; 7.6/70
dp4a ; T=u32|s32 T=u32|s32 ; d:u32 s:T s:U s:u32 ; 5.0/61
dp2a.lo,dp2a.hi ; T=u32|s32 T=u32|s32 ; d:u32 s:T s:U s:u32 ; 5.0/61
`

const tableFloat = `
testp ; [finite|infinite|number|notanumber|normal|subnormal] T=f32|f64 ; d:pred s:T ; 2.0/20
copysign ; T=f32|f64 ; d:T s:T s:T ; 2.0/20
add,sub,mul ; [rn|rz|rm@2.0/20|rp@2.0/20] [ftz] [sat] T=f32 ; d:T s:T s:T
add,sub,mul ; [rn|rz|rm@/13|rp@/13] T=f64 ; d:T s:T s:T
fma ; $round [ftz] [sat] T=f32 ; d:T s:T s:T s:T ; 2.0/20
fma ; $round T=f64 ; d:T s:T s:T s:T ; 1.4/13
mad ; [ftz] [sat] T=f32 ; d:T s:T s:T s:T ; <3.2/20
mad ; $round [ftz] [sat] T=f32 ; d:T s:T s:T s:T ; 2.0/20
mad ; $round T=f64 ; d:T s:T s:T s:T ; 1.4/13
div ; approx|rn@1.4/20|rz@1.4/20|rm@1.4/20|rp@1.4/20 [ftz] T=f32 ; d:T s:T s:T
div.full ; [ftz] T=f32 ; d:T s:T s:T ; 1.4
div ; rn|rz@1.4/20|rm@1.4/20|rp@1.4/20 T=f64 ; d:T s:T s:T
abs,neg ; [ftz] T=f32 ; d:T s:T
abs,neg ; T=f64 ; d:T s:T
min,max ; [ftz] [NaN@7.0/80] [xorsign@7.2/86] [abs@7.2/86] T=f32 ; d:T s:T s:T ; ; xorsign
min,max ; T=f64 ; d:T s:T s:T
rcp,sqrt ; approx|rn@1.4/20|rz@1.4/20|rm@1.4/20|rp@1.4/20 [ftz] T=f32 ; d:T s:T
rcp,sqrt ; rn|rz@1.4/20|rm@1.4/20|rp@1.4/20 T=f64 ; d:T s:T
rcp ; approx|$round ftz T=f64 ; d:T s:T ; 2.1
rsqrt ; approx ftz T=f64 ; d:T s:T ; 4.0
rsqrt ; approx T=f64 ; d:T s:T
rcp,sqrt,rsqrt,sin,cos,lg2,ex2 ; T=f32 ; d:T s:T ; <1.4
sqrt,rsqrt ; T=f64 ; d:T s:T ; <1.4
div ; T=f32|f64 ; d:T s:T s:T ; <1.4
mad ; T=f64 ; d:T s:T s:T s:T ; <1.4
rsqrt,sin,cos,lg2,ex2 ; approx [ftz] T=f32 ; d:T s:T
tanh ; approx T=f32 ; d:T s:T ; 7.0/75
tanh ; approx T=f16|f16x2 ; d:T s:T ; 7.0/75
tanh ; approx T=bf16|bf16x2 ; d:T s:T ; 7.8/90
ex2 ; approx T=f16|f16x2 ; d:T s:T ; 7.0/75
ex2 ; approx ftz T=bf16|bf16x2 ; d:T s:T ; 7.8/90
add,sub,mul ; [rn] [ftz] [sat] T=f16|f16x2 ; d:T s:T s:T ; 4.2/53
add,sub,mul ; [rn] T=bf16|bf16x2 ; d:T s:T s:T ; 7.8/90
fma ; rn [ftz] [sat] T=f16|f16x2 ; d:T s:T s:T s:T ; 4.2/53
fma ; rn [ftz] relu T=f16|f16x2 ; d:T s:T s:T s:T ; 7.0/80
fma ; $round [relu] T=bf16|bf16x2 ; d:T s:T s:T s:T ; 7.0/80
fma ; rn oob [relu] T=f16|f16x2|bf16|bf16x2 ; d:T s:T s:T s:T ; 8.1/90
neg ; [ftz] T=f16|f16x2 ; d:T s:T ; 6.0/53
abs ; [ftz] T=f16|f16x2 ; d:T s:T ; 6.5/53
abs,neg ; T=bf16|bf16x2 ; d:T s:T ; 7.0/80
min,max ; [ftz] [NaN] [xorsign@7.2/86] [abs@7.2/86] T=f16|f16x2 ; d:T s:T s:T ; 7.0/80 ; xorsign
min,max ; [NaN] [xorsign@7.2/86] [abs@7.2/86] T=bf16|bf16x2 ; d:T s:T s:T ; 7.0/80 ; xorsign
`

const tableCompare = `
set ; $cmp T=u32|s32|f32 T=u16|s16|u32|s32|u64|s64 ; d:T s:U s:U
set ; $cmp $bool T=u32|s32|f32 T=u16|s16|u32|s32|u64|s64 ; d:T s:U s:U p!
set ; lo|ls|hi|hs T=u32|s32|f32 T=u16|u32|u64 ; d:T s:U s:U
set ; lo|ls|hi|hs $bool T=u32|s32|f32 T=u16|u32|u64 ; d:T s:U s:U p!
set ; eq|ne T=u32|s32|f32 T=b16|b32|b64 ; d:T s:U s:U
set ; eq|ne $bool T=u32|s32|f32 T=b16|b32|b64 ; d:T s:U s:U p!
set ; $fcmp [ftz] T=u32|s32|f32 T=f32 ; d:T s:U s:U
set ; $fcmp $bool [ftz] T=u32|s32|f32 T=f32 ; d:T s:U s:U p!
set ; $fcmp T=u32|s32|f32 T=f64 ; d:T s:U s:U
set ; $fcmp $bool T=u32|s32|f32 T=f64 ; d:T s:U s:U p!
set ; $fcmp [ftz] T=f16|u16@6.5|s16@6.5|u32@6.5|s32@6.5 T=f16 ; d:T s:U s:U ; 4.2/53
set ; $fcmp $bool [ftz] T=f16|u16@6.5|s16@6.5|u32@6.5|s32@6.5 T=f16 ; d:T s:U s:U p! ; 4.2/53
set ; $cmp T=f16 T=u16|s16|u32|s32|u64|s64 ; d:T s:U s:U ; 4.2/53
set ; eq|ne T=f16 T=b16|b32|b64 ; d:T s:U s:U ; 4.2/53
set ; $fcmp [ftz] T=f16x2 T=f16x2 ; d:T s:U s:U ; 4.2/53
set ; $fcmp $bool [ftz] T=f16x2 T=f16x2 ; d:T s:U s:U p! ; 4.2/53
set ; $fcmp T=bf16|u16|s16|u32|s32 T=bf16 ; d:T s:U s:U ; 7.8/90
set ; $fcmp $bool T=bf16|u16|s16|u32|s32 T=bf16 ; d:T s:U s:U r:pred! ; 7.8/90
set ; $cmp T=bf16 T=u16|s16|u32|s32|u64|s64 ; d:T s:U s:U ; 7.8/90
set ; eq|ne T=bf16 T=b16|b32|b64 ; d:T s:U s:U ; 7.8/90
set ; $fcmp T=bf16x2 T=bf16x2 ; d:T s:U s:U ; 7.8/90
set ; $fcmp $bool T=bf16x2 T=bf16x2 ; d:T s:U s:U r:pred! ; 7.8/90
setp ; $cmp T=u16|s16|u32|s32|u64|s64 ; d:pred_| s:T s:T
setp ; $cmp $bool T=u16|s16|u32|s32|u64|s64 ; d:pred_| s:T s:T p!
setp ; lo|ls|hi|hs T=u16|u32|u64 ; d:pred_| s:T s:T
setp ; lo|ls|hi|hs $bool T=u16|u32|u64 ; d:pred_| s:T s:T p!
setp ; eq|ne T=b16|b32|b64 ; d:pred_| s:T s:T
setp ; eq|ne $bool T=b16|b32|b64 ; d:pred_| s:T s:T p!
setp ; $fcmp [ftz] T=f32 ; d:pred_| s:T s:T
setp ; $fcmp $bool [ftz] T=f32 ; d:pred_| s:T s:T p!
setp ; $fcmp T=f64 ; d:pred_| s:T s:T
setp ; $fcmp $bool T=f64 ; d:pred_| s:T s:T p!
setp ; $fcmp [ftz] T=f16|f16x2 ; d:pred_| s:T s:T ; 4.2/53
setp ; $fcmp $bool [ftz] T=f16|f16x2 ; d:pred_| s:T s:T p! ; 4.2/53
setp ; $fcmp T=bf16|bf16x2 ; d:pred_| s:T s:T ; 7.8/90
setp ; $fcmp $bool T=bf16|bf16x2 ; d:pred_| s:T s:T r:pred! ; 7.8/90
selp ; T=$word ; d:T s:T s:T p!
slct ; T=$word T=s32 ; d:T s:T s:T s:U
slct ; [ftz] T=$word T=f32 ; d:T s:T s:T s:U
and,or,xor ; T=pred|b16|b32|b64 ; d:T s:T! s:T!
not ; T=pred|b16|b32|b64 ; d:T s:T!
cnot ; T=b16|b32|b64 ; d:T s:T
lop3 ; T=b32 ; d:T s:T s:T s:T i:u32 ; 4.3/50
lop3.or,lop3.and ; T=b32 ; d:T_|^ s:T s:T s:T i:u32 p! ; 8.2/70
shf.l,shf.r ; clamp|wrap T=b32 ; d:T s:T s:T s:u32# ; 3.1/32
shl ; T=b16|b32|b64 ; d:T s:T s:u32#
shr ; T=b16|u16|s16|b32|u32|s32|b64|u64|s64 ; d:T s:T s:u32#
prmt ; [f4e|b4e|rc8|ecl|ecr|rc16] T=b32 ; d:T s:T s:T s:T ; 2.0/20
`
