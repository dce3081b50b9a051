package difftest_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/verify/difftest"
)

var update = flag.Bool("update", false, "write the document instead of comparing with it")

const document = "../../../docs/emulator-differences.md"

// TestDocumentIsOfThisTable checks docs/emulator-differences.md against the table of
// forms, the records and the list of differences. With -update it writes the document.
func TestDocumentIsOfThisTable(t *testing.T) {
	want := intro + counts(t) + found + bounds() + left()
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the table gives: go test -C internal/verify ./difftest -run Document -update", document)
	}
}

const intro = `# The emulator and an H200, instruction by instruction

Made by ` + "`go test -C internal/verify ./difftest -run Document -update`" + ` from the table of forms, the recorded results and the list
of differences in [internal/verify/difftest](../internal/verify/difftest).

An instruction form is an opcode with one choice of modifiers and types. Each is a kernel whose threads execute it
on operand tuples of their own: edge values against edge values (zeros, ends of the subnormal and normal ranges,
infinities, NaNs, limits of the integer types) and seeded random ones. The results of a GPU are kept, in full for
the first tuples and as checksums for all, with a hash of the PTX and the operands that made them; PTX and operands
are derived from the table again.

` + "`go test -C internal/verify ./difftest`" + ` runs every form on the emulator, and on the GPU where there is one, and compares with what is
kept. Exact results agree bit for bit, the sign and the payload of NaNs too: f32 arithmetic makes 0x7fffffff of every
NaN. Checksums say nothing about payloads of f64 and conversions; the results that are kept in full do. Approximate
results are within the ISA's bound of the exact function, on both, and the same NaNs. Forms that the GPU's driver
refuses to load are refused by the emulator, too.

To record again, on a machine with a GPU: ` + "`go test -C internal/verify ./difftest -run TestRecord -record testdata`" + `.

## What is compared

`

func counts(t *testing.T) string {
	var b strings.Builder
	device, forms, refused := "", 0, 0
	b.WriteString("| group | forms | of these refused by both |\n|---|---|---|\n")
	for _, g := range difftest.Groups() {
		f := load(t, g.Name)
		n := 0
		for _, r := range f.Records {
			if r.Refused {
				n++
			}
		}
		device = fmt.Sprintf("%s, driver API %d.%d", f.Device, f.Driver/1000, f.Driver%1000/10)
		forms, refused = forms+len(g.Forms), refused+n
		fmt.Fprintf(&b, "| %s | %d | %d |\n", g.Name, len(g.Forms), n)
	}
	fmt.Fprintf(&b, "| all | %d | %d |\n\n", forms, refused)
	fmt.Fprintf(&b, "Each on %d operand tuples, %d executions in all. Recorded on: %s.\n\n", difftest.Tuples, (forms-refused)*difftest.Tuples, device)
	return b.String()
}

const found = `## What the GPU showed

Behaviour that the PTX ISA leaves open, or that is easy to get wrong. The emulator does the same.

| instruction | behaviour of the H200 |
|---|---|
| div, rem on integers | a divisor of 0 gives a quotient and a remainder of all ones |
| add, mul, fma, div with .ftz (f32, f16) | a result is flushed if it would be below the smallest normal number after rounding to the bits of a normal one: 2^-126 × (1 − 2^-24) is flushed, although it rounds to 2^-126 |
| testp.normal | zeros count as normal |
| cvt.ftz.f16.f32 | a subnormal operand is not flushed; .rm and .rp show it |
| cvt.rn, cvt.rz to tf32 | a NaN becomes 0x7fffe000 |
| cvt.rna to tf32 | NaNs and infinities are truncated; .satfinite then takes one unit from the last place, from NaNs too |
| cvt.satfinite to f16, bf16 | limits what rounding made infinite, too |
| .relu | −0 becomes +0 |
| cvt.sat | refused between integer types where nothing can be out of range, and with bf16 |
| min, max .xorsign.abs on f16 | the sign of a NaN operand counts |
| fma.oob | factors with the pattern 0x7ff7 or 0xfff7, in f16 and in bf16, make the result 0; the third operand is not looked at |
| rcp, rsqrt .approx.ftz.f64 | the lower half of the operand is not looked at: a NaN with its payload there is an infinity |
| bfe, bfi on 64 bits | position and length count in full, not by their low byte as with 32 bits |
| atom.add.f32, red.add.f32 | in global memory subnormal operands and results are zeros, in shared memory they are kept; with a generic address, where it points to decides |
| add, sub, mul, fma, min, max on f64 | of several NaNs the second factor or operand's is handed on, then the addend's, then the first's; a division prefers the dividend's; an invalid operation gives 0xfff8000000000000 |
| abs, neg on NaNs | f64: the NaN, made quiet, with its sign; f32, f16 and bf16: the canonical NaN |
| atom.add.f64, red.add.f64 | in global memory NaNs are handed on as they are, not made quiet |
| cvt of NaNs | from f64 and to f64: sign and leading bits of the payload, made quiet; f32 from bf16: the pattern, not even made quiet; otherwise canonical |
| constants | 0f… as an f64 operand is the pattern, not the number; % on constants is unsigned, / is signed |

`

func bounds() string {
	var b strings.Builder
	b.WriteString("## Bounds of approximate forms\n\nHalf a unit in the last place is added to each, for storing the result.\n\n")
	b.WriteString("| form | units in the last place | relative | absolute |\n|---|---|---|---|\n")
	for _, g := range difftest.Groups() {
		for _, f := range g.Forms {
			if f.Bound != nil {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.Name, number(f.Bound.ULP), power(f.Bound.Rel), power(f.Bound.Abs))
			}
		}
	}
	return b.String() + "\n"
}

func number(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprint(x)
}

func power(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf("%.3g", x)
}

func left() string {
	var b strings.Builder
	b.WriteString("## What differs\n\nSections are those of the PTX ISA, release 9.0.\n\n")
	for _, d := range difftest.Differences() {
		fmt.Fprintf(&b, "**%s** (section %s). %s\n\n", strings.Join(d.Forms, "; "), d.Section, d.Why)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
