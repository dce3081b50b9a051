package ptx_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

// manyKernels returns a module of n kernels as compilers write it.
func manyKernels(n int) []byte {
	var b strings.Builder
	b.WriteString(".version 7.0\n.target sm_70\n.address_size 64\n")
	for k := range n {
		fmt.Fprintf(&b, `.visible .entry kernel%d(
	.param .u64 kernel%[1]d_param_0, .param .u64 .ptr .global .align 4 kernel%[1]d_param_1,
	.param .align 8 .b8 kernel%[1]d_param_2[24], .param .f32 kernel%[1]d_param_3
)
.maxntid 256, 1, 1
.minnctapersm %[2]d
{
	.reg .pred %%p<2>;
	.reg .b32 %%r<9>;
%[3]s	ret;
}
`, k, k%4+1, strings.Repeat("\t@%p1 mad.lo.s32 %r1, %r2, %r3, %r4;\n", 40))
	}
	return []byte(b.String())
}

// A kernel's signature needs no allocation of its own, so loading a module of hundreds
// does not allocate hundreds of times.
func TestSignaturesOfManyKernelsAllocateLittle(t *testing.T) {
	src := manyKernels(100)
	var info *ptx.ModuleInfo
	n := testing.AllocsPerRun(10, func() {
		var err error
		if info, err = ptx.Signatures(src); err != nil {
			t.Fatal(err)
		}
	})
	if n > 50 {
		t.Errorf("%v allocations", n)
	}
	if len(info.Kernels) != 100 {
		t.Fatalf("%d kernels", len(info.Kernels))
	}
	clear(src) // nothing may refer to it
	for i, k := range info.Kernels {
		want := fmt.Sprintf("kernel%d", i)
		if k.Name != want || k.MinBlocks != i%4+1 || k.MaxThreads != [3]int{256, 1, 1} || len(k.Params) != 4 || k.ParamBytes != 44 {
			t.Fatalf("%+v", k)
		}
		for j, p := range k.Params {
			if p.Name != fmt.Sprintf("%s_param_%d", want, j) {
				t.Fatalf("parameter %d of %s is %q", j, want, p.Name)
			}
		}
		if k.Params[1].Kind != ptx.ParamPointer || k.Params[2].Kind != ptx.ParamAggregate || k.Params[2].Len != 24 {
			t.Fatalf("%+v", k.Params)
		}
	}
}

// Error messages do not refer to the text either.
func TestErrorsOfSignaturesKeepTheirWords(t *testing.T) {
	src := []byte(".version 7.0\n.target sm_70\n.visible .entry bad(.param .wrong p)\n{\n}\n.visible .entry good(.param .u64 q)\n{\n}\n")
	info, err := ptx.Signatures(src)
	if err == nil {
		t.Fatal("a type that does not exist is no error")
	}
	before := err.Error()
	clear(src)
	if err.Error() != before || len(info.Kernels) != 1 || info.Kernels[0].Name != "good" || info.Kernels[0].Params[0].Name != "q" {
		t.Errorf("%q was %q; %+v", err.Error(), before, info)
	}
}

func BenchmarkSignaturesMany(b *testing.B) {
	src := manyKernels(100)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ptx.Signatures(src); err != nil {
			b.Fatal(err)
		}
	}
}
