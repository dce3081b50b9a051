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

// TestDocumentIsOfThisTable checks that docs/emulator-differences.md matches the table of forms,
// the records and the list of differences. With -update it writes the document.
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

const intro = `# The emulator and a GPU, instruction by instruction

Read this page to check whether an instruction gives the same results on the emulator as on a GPU.
` + "`go test -C internal/verify ./difftest -run Document -update`" + ` generates the page from the table of forms, the
recorded results and the list of differences in [internal/verify/difftest](../internal/verify/difftest).

An instruction form is an opcode with one choice of modifiers and types. Each form has a test kernel, whose threads execute
the form on different operand tuples. The tuples combine edge values (zeros, the ends of the subnormal and normal ranges,
infinities, NaNs, limits of the integer types) and seeded random values. The repository contains the results from a GPU, the
first few in full and all of them as checksums. It also contains hashes of the PTX and the operands, which the test
regenerates from the table.

` + "`go test -C internal/verify ./difftest`" + ` runs every form on the emulator and on any available GPU, and
compares the results with the recorded results. Exact results agree bit for bit, including the sign and payload of NaNs. In
f32 arithmetic, every NaN becomes 0x7fffffff. The checksums do not cover the NaN payloads of f64 and of conversions, but the
results stored in full do. Approximate results differ from the exact function by no more than the ISA's error bound, both on
the emulator and on the GPU, and both return NaN for the same operands. The emulator rejects the same forms as the GPU's
driver.

On a machine with a GPU, this command records the results again:
` + "`go test -C internal/verify ./difftest -run TestRecord -record testdata`" + `.

## What is compared

`

func counts(t *testing.T) string {
	var b strings.Builder
	device, forms, refused := "", 0, 0
	b.WriteString("| group | forms | refused by both |\n|---|---|---|\n")
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
	fmt.Fprintf(&b, "Each form ran on %d operand tuples, in total %d executions. The results were recorded on %s.\n\n", difftest.Tuples, (forms-refused)*difftest.Tuples, device)
	return b.String()
}

const found = `## Behaviour observed on the GPU

The following behaviour is either left open by the PTX ISA or easy to get wrong. The emulator behaves like the GPU.

| instruction | behaviour of the GPU |
|---|---|
| div, rem on integers | if the divisor is 0, all bits of the quotient and the remainder are 1 |
| add, mul, fma, div with .ftz (f32, f16) | a result is flushed if it is below the smallest normal number after rounding with an unlimited exponent range: 2^-126 × (1 − 2^-24) is flushed, although ordinary rounding gives 2^-126 |
| testp.normal | zeros count as normal |
| cvt.ftz.f16.f32 | a subnormal operand is not flushed, as .rm and .rp show |
| cvt.rn, cvt.rz to tf32 | a NaN becomes 0x7fffe000 |
| cvt.rna to tf32 | NaNs and infinities are truncated. After that, .satfinite subtracts one unit in the last place, even from NaNs |
| cvt.satfinite to f16, bf16 | values that round to infinity are also clamped to the largest finite number |
| .relu | −0 becomes +0 |
| cvt.sat | the compiler rejects .sat with bf16, and between integer types if no value can be out of range |
| min, max .xorsign.abs on f16 | the sign of a NaN operand contributes to the result's sign |
| fma.oob | in f16 and in bf16, a factor with the pattern 0x7ff7 or 0xfff7 makes the result 0, regardless of the third operand |
| rcp, rsqrt .approx.ftz.f64 | the lower half of the operand is ignored, so a NaN whose payload is only in that half counts as infinity |
| bfe, bfi | the 64-bit forms use all bits of the position and the length. The 32-bit forms use only their low bytes |
| atom.add.f32, red.add.f32 | subnormal operands and results become zero in global memory and are kept in shared memory. With a generic address, the behaviour is that of the memory to which it points |
| add, sub, mul, fma, min, max on f64 | if several operands are NaNs, the result is the first NaN in this order: the second operand (in fma, the second factor), the addend of fma, the first operand. A division prefers the NaN of the dividend. An invalid operation returns 0xfff8000000000000 |
| abs, neg on NaNs | f64 returns the NaN, made quiet, with its sign. f32, f16 and bf16 return the canonical NaN |
| atom.add.f64, red.add.f64 | in global memory, a NaN is stored unchanged and not made quiet |
| cvt of NaNs | conversions from and to f64 keep the sign and the leading bits of the payload and make the NaN quiet. A conversion from bf16 to f32 keeps the bit pattern and does not make the NaN quiet. All other conversions return the canonical NaN |
| constants | 0f… as an f64 operand stands for the bit pattern, not for the number. In constant expressions, % is unsigned and / is signed |

`

func bounds() string {
	var b strings.Builder
	b.WriteString("## Bounds of approximate forms\n\nResults must be within these bounds plus half a unit in the last place, which allows for rounding of the stored result.\n\n")
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
	b.WriteString("## What differs\n\nSection numbers refer to release 9.0 of the PTX ISA.\n\n")
	for _, d := range difftest.Differences() {
		fmt.Fprintf(&b, "**%s** (section %s). %s\n\n", strings.Join(d.Forms, "; "), d.Section, d.Why)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
