package emulator_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

// What NVIDIA's compiler rejects is rejected with its code, the line and the correct form, even in
// functions that are never called. An instruction that exists but is not emulated has another code.
func TestTheRulesOfTheISADecideAtLoad(t *testing.T) {
	p, err := open(emulator.New(emulator.Config{}), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.d.Close()
	const head = ".version 7.8\n.target sm_70\n.address_size 64\n"
	for _, c := range []struct {
		text string
		code cu.CUresult
		says string
	}{
		{".func never() {\n.reg .f32 %f<3>;\nadd.s32 %f1, %f1, %f2;\nret;\n}\n.entry k() { ret; }", cu.CUDA_ERROR_INVALID_PTX, "PTX line 6: add.s32: operand 1 is register %f1 of type .f32; it must be .s32"},
		{".entry k() {\n.reg .pred %p<2>;\nvote.all.pred %p1, %p1;\nret;\n}", cu.CUDA_ERROR_INVALID_PTX, "PTX line 6: vote.all.pred is gone from PTX 6.4 and sm_70 on: write vote.sync"},
		{".entry k() .noreturn { ret; }", cu.CUDA_ERROR_INVALID_PTX, ".noreturn is for functions"},
		{".global .texref t;\n.entry k() {\n.reg .f32 %f<5>;\ntex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f1}];\nret;\n}", cu.CUDA_ERROR_NOT_SUPPORTED, "textures"},
	} {
		m, err := p.c.LoadModule([]byte(head + c.text))
		if m != nil {
			m.Close()
		}
		if !errors.Is(err, c.code) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s\n  gives %v\n  want %v: %s", c.text, err, c.code, c.says)
		}
	}
}

// BenchmarkLoad loads the largest PTX that ships.
func BenchmarkLoad(b *testing.B) {
	text, err := os.ReadFile("../../internal/launchers/norm.ptx")
	if err != nil {
		b.Fatal(err)
	}
	p, err := open(emulator.New(emulator.Config{}), 1)
	if err != nil {
		b.Fatal(err)
	}
	defer p.d.Close()
	for b.Loop() {
		m, err := p.c.LoadModule(text)
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
