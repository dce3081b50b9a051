package difftest

// Difference describes forms whose results on the emulator differ from the GPU's, and the reason
// why the difference remains.
type Difference struct {
	Forms []string
	// Section is the section of the PTX ISA (release 9.0) that describes the form.
	Section string
	Why     string
}

// Differences lists the known differences.
func Differences() []Difference {
	return []Difference{
		{
			Forms: []string{
				"atom.shared.add.noftz.f16x2 on shared", "red.shared.add.noftz.f16x2 on shared",
				"atom.shared.add.noftz.bf16x2 on shared", "red.shared.add.noftz.bf16x2 on shared",
				"atom.add.noftz.f16x2 on generic shared", "red.add.noftz.f16x2 on generic shared",
				"atom.add.noftz.bf16x2 on generic shared", "red.add.noftz.bf16x2 on generic shared",
			},
			Section: "9.7.13, atom and red",
			Why: "This is a defect in the driver's compiler (and in ptxas 11.8), not in the emulator. The compiler translates an addition to a pair of halves in " +
				"shared memory into a loop. If the operand is the lower half of a 64-bit register, as in these kernels, the loop takes the operand's " +
				"upper half from the register's upper word, which is wrong. If the operand was loaded as 32 bits, the GPU's sum is correct, as a test " +
				"with atomicAdd of a __half2 showed. The emulator always adds both halves.",
		},
		{
			Forms:   []string{"mul.f32 add.f32", "mul.f64 add.f64"},
			Section: "9.7.3, mul and add",
			Why: "If a product and a sum have no rounding modifiers, a compiler may contract them to one fma, and the driver's compiler does so. The " +
				"emulator executes two instructions. With .rn on both instructions, the results are equal.",
		},
		{
			Forms:   []string{"mul.rn.f64 add.rn.f64"},
			Section: "9.7.3, add",
			Why: "Numeric results are equal. If both f64 operands are NaNs, the GPU's instruction returns the second operand. However, the " +
				"compiler may exchange the operands of a sum, and does so in this kernel. The emulator returns the second operand in the PTX.",
		},
	}
}

// Known returns the difference that lists a form, or nil.
func Known(form string) *Difference {
	for _, d := range Differences() {
		for _, f := range d.Forms {
			if f == form {
				return &d
			}
		}
	}
	return nil
}
