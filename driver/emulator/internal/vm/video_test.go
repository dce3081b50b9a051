package vm_test

import (
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

func TestVideoInstructions(t *testing.T) {
	for _, k := range []struct {
		instr   string
		a, b, c uint32
		want    uint32
	}{
		{"vadd4.u32.u32.u32 %d, %a, %b, %c", 0x01ff7f80, 0x01010101, 0, 0x02008081},
		{"vadd4.u32.u32.u32.sat %d, %a, %b, %c", 0x01ff7f80, 0x01010101, 0, 0x02ff8081},
		{"vadd4.s32.s32.s32.sat %d, %a, %b, %c", 0x01ff7f80, 0x010101ff, 0, 0x02007f80},
		{"vsub2.u32.u32.u32.sat %d, %a, %b, %c", 0x00050009, 0x00060001, 0, 0x00000008},
		{"vabsdiff4.u32.u32.u32 %d, %a, %b, %c", 0x10ff0005, 0x20000105, 0, 0x10ff0100},
		{"vabsdiff4.u32.u32.u32.add %d, %a, %b, %c", 0x10ff0005, 0x20000105, 7, 7 + 0x10 + 0xff + 1},
		{"vabsdiff4.s32.s32.s32 %d, %a, %b, %c", 0x80ff0005, 0x7f0001fb, 0, 0xff01010a},
		{"vavrg4.u32.u32.u32 %d, %a, %b, %c", 0x01ff0005, 0x02ff0106, 0, 0x02ff0106},
		{"vavrg2.s32.s32.s32 %d, %a, %b, %c", 0xfffd0003, 0x00000004, 0, 0xfffe0004},
		{"vmin2.s32.s32.s32 %d, %a, %b, %c", 0xffff0003, 0x00000002, 0, 0xffff0002},
		{"vmax2.u32.u32.u32 %d, %a, %b, %c", 0xffff0003, 0x00000002, 0, 0xffff0003},
		{"vmax4.u32.u32.u32 %d.b20, %a, %b, %c", 0x01020304, 0x04030201, 0xaabbccdd, 0xaa03cc04},
		{"vadd4.u32.u32.u32 %d, %a.b0123, %b.b7654, %c", 0x01020304, 0x10203040, 0, 0x14233241},
		{"vshr.u32.u32.u32.clamp %d, %a, %b", 0x80000001, 4, 0, 0x08000000},
		{"vshr.u32.u32.u32.clamp %d, %a, %b", 0x80000001, 36, 0, 0},
		{"vshr.s32.s32.u32.clamp %d, %a, %b", 0x80000001, 36, 0, 0xffffffff},
		{"vshr.u32.u32.u32.wrap %d, %a, %b", 0x80000001, 36, 0, 0x08000000},
		{"vshr.s32.u32.u32.sat.wrap %d, %a, %b", 0xfffffff0, 0, 0, 0x7fffffff},
		{"vshr.u32.s32.u32.sat.clamp %d, %a, %b", 0xfffffff0, 1, 0, 0},
		{"vshr.u32.s32.u32.clamp.add %d, %a, %b, %c", 0xfffffff0, 1, 10, 2},
		{"vset4.u32.u32.gt %d, %a, %b, %c", 0x01020304, 0x04030201, 0, 0x00000101},
		{"vset2.s32.s32.ne.add %d, %a, %b, %c", 0x00010002, 0x00010003, 40, 41},
	} {
		m := load(t, kernelText("u32", []string{"u32", "u32", "u32"}, k.instr+";"))
		out := upload(m, make([]uint32, 1))
		m.mustLaunch("test", 1, out, upload(m, []uint32{k.a}), upload(m, []uint32{k.b}), upload(m, []uint32{k.c}))
		if got := download[uint32](m, out, 1)[0]; got != k.want {
			t.Errorf("%s: %#x, want %#x", k.instr, got, k.want)
		}
	}
}

// Instructions for which devices deviate from the ISA are rejected.
func TestScalarVideoInstructionsThatAreNotThere(t *testing.T) {
	for _, instr := range []string{"vadd.u32.u32.u32.sat %d, %a, %b", "vmad.u32.u32.u32 %d, %a, %b, %c", "vshr.u32.u32.u32.clamp.min %d, %a, %b, %c", "vshr.u32.u32.u32.clamp %d, %a.h0, %b", "vshr.u32.u32.u32.wrap %d.b1, %a, %b, %c"} {
		_, err := tryLoad(t, kernelText("u32", []string{"u32", "u32", "u32"}, instr+";"))
		if e := (vm.CompileErrors{}); !asCompileErrors(err, &e) || e[0].Kind != vm.CompileUnsupported {
			t.Errorf("%s: %v", instr, err)
		}
	}
}
