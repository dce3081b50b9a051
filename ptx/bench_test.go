package ptx_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

// synthetic returns a module of about size bytes that looks like a compiler's output:
// long bodies, mostly memory accesses and arithmetic on numbered registers.
func synthetic(size int) []byte {
	var b strings.Builder
	b.WriteString("//\n// A benchmark\n//\n\n.version 8.0\n.target sm_80\n.address_size 64\n\n")
	for k := 0; b.Len() < size; k++ {
		name := fmt.Sprintf("_Z%dbench_kernel_%dPfPKfi", 14, k)
		fmt.Fprintf(&b, "\t// .globl\t%s\n.visible .entry %s(\n", name, name)
		fmt.Fprintf(&b, "\t.param .u64 %s_param_0,\n\t.param .u64 %s_param_1,\n\t.param .u32 %s_param_2\n)\n", name, name, name)
		b.WriteString(".maxntid 256, 1, 1\n{\n\t.reg .pred \t%p<7>;\n\t.reg .f32 \t%f<93>;\n\t.reg .b32 \t%r<50>;\n\t.reg .b64 \t%rd<40>;\n\n\n")
		fmt.Fprintf(&b, "\tld.param.u64 \t%%rd1, [%s_param_0];\n\tld.param.u64 \t%%rd2, [%s_param_1];\n\tld.param.u32 \t%%r1, [%s_param_2];\n", name, name, name)
		b.WriteString("\tmov.u32 \t%r2, %ctaid.x;\n\tmov.u32 \t%r3, %ntid.x;\n\tmov.u32 \t%r4, %tid.x;\n\tmad.lo.s32 \t%r5, %r2, %r3, %r4;\n")
		for i := range 40 {
			fmt.Fprintf(&b, "\tsetp.ge.s32 \t%%p%d, %%r%d, %%r1;\n\t@%%p%d bra \t$L__BB%d_%d;\n\n", i%6+1, i+5, i%6+1, k, i+1)
			fmt.Fprintf(&b, "\tcvta.to.global.u64 \t%%rd%d, %%rd1;\n\tmul.wide.s32 \t%%rd%d, %%r%d, 4;\n\tadd.s64 \t%%rd%d, %%rd%d, %%rd%d;\n", i%30+3, i%30+4, i+5, i%30+5, i%30+3, i%30+4)
			fmt.Fprintf(&b, "\tld.global.nc.v4.f32 \t{%%f%d, %%f%d, %%f%d, %%f%d}, [%%rd%d+%d];\n", i+1, i+2, i+3, i+4, i%30+5, 16*i)
			fmt.Fprintf(&b, "\tfma.rn.f32 \t%%f%d, %%f%d, 0f3F800000, %%f%d;\n\tst.global.f32 \t[%%rd%d+-4], %%f%d;\n", i+5, i+1, i+2, i%30+5, i+5)
			fmt.Fprintf(&b, "\n$L__BB%d_%d:\n", k, i+1)
		}
		b.WriteString("\tret;\n\n}\n")
	}
	return []byte(b.String())
}

// BenchmarkParse1MB measures a single core only with -cpu 1. Otherwise the garbage
// collector runs on other cores.
func BenchmarkParse1MB(b *testing.B) {
	src := synthetic(1 << 20)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ptx.Parse("bench.ptx", src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPrint(b *testing.B) {
	src := synthetic(1 << 20)
	m, err := ptx.Parse("bench.ptx", src)
	if err != nil {
		b.Fatal(err)
	}
	var out []byte
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		out = m.Append(out[:0])
	}
}

func BenchmarkSignatures(b *testing.B) {
	src := synthetic(1 << 20)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ptx.Signatures(src); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSignaturesSmall measures Signatures on a module with one kernel. Every module load calls
// Signatures.
func BenchmarkSignaturesSmall(b *testing.B) {
	src := []byte(".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p, .param .f32 x, .param .u32 n)\n{\n\tret;\n}\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ptx.Signatures(src); err != nil {
			b.Fatal(err)
		}
	}
}
