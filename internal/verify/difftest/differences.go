package difftest

// Difference is a form whose results on the emulator differ from the H200's, with the
// reason for leaving it so.
type Difference struct {
	Forms []string
	// Section of the PTX ISA (release 9.0) that describes the form.
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
			Why: "An error of the driver's compiler (and of ptxas 11.8), not of the emulator. An addition to a pair of halves in shared " +
				"memory becomes a loop; where the operand is the lower half of a 64-bit register, as in these kernels, the loop takes the " +
				"upper half of the pair from the register's upper word and adds that. An operand that was loaded as 32 bits gives the " +
				"right sum on the GPU, as atomicAdd of a __half2 showed. The emulator adds both halves.",
		},
		{
			Forms:   []string{"mul.f32 add.f32", "mul.f64 add.f64"},
			Section: "9.7.3, mul and add",
			Why: "A product and a sum without a rounding modifier may be contracted to one fma, and the driver's compiler does so. The emulator " +
				"executes what is written. With .rn on both, results are equal.",
		},
		{
			Forms:   []string{"mul.rn.f64 add.rn.f64"},
			Section: "9.7.3, add",
			Why: "Results that are numbers are equal. Of two f64 operands that are NaNs, an instruction of the GPU hands on the second; but the " +
				"compiler may exchange the operands of a sum, as it does here. The emulator hands on the second as written.",
		},
	}
}

// Known returns the difference that a form belongs to, or nil.
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
