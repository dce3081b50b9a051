package main

import (
	"fmt"
	"regexp"
)

// explanation describes a known difference from ptxas 12.4, which the library keeps on purpose.
type explanation struct {
	why      string
	accepted bool           // the library accepts what ptxas rejects; if false, the reverse
	what     *regexp.Regexp // matches the instruction
	reason   *regexp.Regexp // matches the reason that the library or ptxas gives for rejecting the instruction
}

var explanations = []explanation{
	{"texts before PTX 8.0 with a modifier of tensor maps: ptxas 12.4 ignores it, ptxas 11.8 rejects it, and so would older drivers",
		false, regexp.MustCompile(`.`), regexp.MustCompile(`^\.\S+ of \S+ needs PTX 8\.0; the text is PTX [1-7]`)},
	{".oob in texts up to PTX 7.8: ptxas 11.8 ignores it, and so does the library; ptxas 12.4 rejects it",
		true, regexp.MustCompile(`^\[([1-6]|7\.[0-8]).*\.oob[. ]`), regexp.MustCompile(`\.oob`)},
	{".oob where package build chooses the version: it must suit new assemblers too",
		false, regexp.MustCompile(`\.oob[. ]`), regexp.MustCompile(`(needs PTX 8\.1|modifier \.oob|do not go together)`)},
	{"a constant or an address as the destination of video instructions and createpolicy: ptxas does not check it, and there is no place for the result",
		false, regexp.MustCompile(`\] (v[a-z]+|createpolicy)\S* (-?\d+|gv\+4|%r2\+4),`), regexp.MustCompile(`operand 1 must be a register`)},
	{"constants as a whole fragment of a matrix: ptxas accepts them for some targets, and rejects them for others",
		false, regexp.MustCompile(`\] wmma\.mma\S* .*\{-?\d+\}`), regexp.MustCompile(`operand [23] must be a register`)},
	{"double-precision constants among the f32 registers of wmma.store: ptxas accepts some shapes and registers, and rejects others",
		false, regexp.MustCompile(`\] wmma\.store\S* .*0d`), regexp.MustCompile(`operand 2 is \{`)},
	{"the same, where the library accepts it",
		true, regexp.MustCompile(`\] wmma\.store\S* .*0d`), regexp.MustCompile(`Arguments mismatch`)},
	{"operands of bf16x2 and e4m3x2 that are vectors or of another type: ptxas converts them without a rule in the ISA",
		false, regexp.MustCompile(`(bf16|f16x2|e4m3x2|e5m2x2)`), regexp.MustCompile(`operand \d (is a vector|is register|is \{)`)},
	{"a vector or integers for a value of f32 or f64 in asynchronous stores and vector reductions: ptxas compares only the size",
		false, regexp.MustCompile(`\] (st\.async|red|atom)\S*\.(f32|f64|b64) `), regexp.MustCompile(`operand \d (is a vector|is \{|must be a vector)`)},
	{"something that is not an address, where one is required: ptxas does not check it in reductions and bulk copies",
		false, regexp.MustCompile(`\] (red|multimem|cp)\.`), regexp.MustCompile(`must be an address in brackets`)},
	{"vectors with a constant and a register of another size: ptxas compares the sizes only in vectors without constants",
		false, regexp.MustCompile(`\] (st|mov)\S* .*\{.*\}`), regexp.MustCompile(`operand \d (is \{no register|is a vector|must be a register)`)},
	{"modifiers that ptxas accepts twice, or ignores, and that the ISA does not have there",
		false, regexp.MustCompile(`.`), regexp.MustCompile(`(do not go together|has no modifier|lacks a modifier)`)},
	{"types that ptxas ignores and the ISA does not have there",
		false, regexp.MustCompile(`.`), regexp.MustCompile(`(has no type|does not take)`)},
	{"constants as the source of a conversion to tf32, and other types of registers in cvt.pack and fns: ptxas accepts them, the ISA requires a register of that type",
		false, regexp.MustCompile(`\] (cvt\.rna|cvt\.pack|fns|movmatrix)\.`), regexp.MustCompile(`operand \d`)},
	{"an additional operand, which ptxas ignores",
		false, regexp.MustCompile(`\] (atom|red)\.`), regexp.MustCompile(`has \d operands; it takes`)},
	{"forms that ptxas accepts in older texts or for older targets than the ISA states",
		false, regexp.MustCompile(`\] (rcp|mad|mbarrier)\.`), regexp.MustCompile(`needs PTX`)},
	{"operands such as r+4 and symbol+4: ptxas's parser accepts them in some instructions only",
		true, regexp.MustCompile(`(gv|%r2)\+4`), regexp.MustCompile(`(Parsing error|Arguments mismatch|State space mismatch)`)},
	{"the variable of a mbarrier or of a tensor map in .param of the function",
		true, regexp.MustCompile(`\[(pv|kp)(\+8)?\]`), regexp.MustCompile(`(Illegal to take address|State space mismatch)`)},
	{"registers that are wider than the type of a conversion to or from bf16 and f16: the library accepts them for all types, ptxas for most",
		true, regexp.MustCompile(`\] cvt\S*b?f16`), regexp.MustCompile(`Arguments mismatch`)},
	{"the metadata of sparse matrices, whose form the library does not check",
		true, regexp.MustCompile(`\] mma\.sp`), regexp.MustCompile(`(Arguments mismatch|Parsing error)`)},
	{"constants for a whole vector in asynchronous stores and in matrices",
		true, regexp.MustCompile(`\] (st\.async|stmatrix)\S* .*\{-?\d+, -?\d+`), regexp.MustCompile(`Arguments mismatch`)},
	{"the mbarrier of a bulk copy in another state space",
		true, regexp.MustCompile(`\] cp\..*bulk\S* .*\[(gv|cv|lv)`), regexp.MustCompile(`State space mismatch`)},
	{"constants of another type for cache policies, and sizes of createpolicy.range that do not go together",
		true, regexp.MustCompile(`(cache_hint|createpolicy\.range)`), regexp.MustCompile(`(Arguments mismatch|must be less than)`)},
	{".expect_tx of mbarrier after the state space: ptxas requires the order of the ISA, the library none",
		true, regexp.MustCompile(`\] mbarrier\.`), regexp.MustCompile(`Unknown modifier '\.expect_tx'`)},
	{"the state of a mbarrier in a register of type .f64: ptxas rejects it in some forms only",
		true, regexp.MustCompile(`\] mbarrier\.\S+ %fd`), regexp.MustCompile(`Arguments mismatch`)},
	{"negative numbers of groups",
		true, regexp.MustCompile(`wait_group\S* -`), regexp.MustCompile(`non-negative`)},
	{"forms of PTX 1.x that later assemblers treat differently",
		true, regexp.MustCompile(`^\[1\.`), regexp.MustCompile(`.`)},
}

// explained prints how many differences each explanation covers, and the differences without one.
// It returns the number of differences without an explanation.
func explained(all []verdict) (left int) {
	count := make([]int, len(explanations))
next:
	for _, v := range all {
		if v.theirs == crashed || (v.theirs == "") == (v.ours == "") {
			continue
		}
		reason := v.theirs + v.ours // one of the two is ""
		for i, e := range explanations {
			if e.accepted == (v.ours == "") && e.what.MatchString(v.what) && e.reason.MatchString(reason) {
				count[i]++
				continue next
			}
		}
		left++
		fmt.Printf("not explained: %s -- %s\n", v.what, reason)
	}
	for i, n := range count {
		if n > 0 {
			fmt.Printf("%5d %s\n", n, explanations[i].why)
		}
	}
	return left
}
