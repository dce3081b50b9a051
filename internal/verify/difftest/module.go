package difftest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	// Tuples is the number of operand tuples of each form, one per thread.
	Tuples = 4096
	// Block is the number of threads per block.
	Block = 128
	// scratch is the number of bytes of memory per thread.
	scratch = 32
	// Header starts each module.
	Header = ".version 8.6\n.target sm_90\n.address_size 64\n"
)

// Module returns a PTX module with one kernel per form, named k0, k1 and so on.
func Module(forms []Form) string {
	var b strings.Builder
	b.WriteString(Header)
	for i := range forms {
		forms[i].kernel(&b, fmt.Sprintf("k%d", i))
	}
	return b.String()
}

// kernel writes the kernel of the form. The kernel's parameters are the addresses of the operands,
// the results and the scratch memory.
func (f *Form) kernel(b *strings.Builder, name string) {
	fmt.Fprintf(b, ".visible .entry %s(.param .u64 in, .param .u64 out, .param .u64 own)\n{\n", name)
	b.WriteString(".reg .pred %p, %q, %r; .reg .b16 %h<8>; .reg .b32 %i, %t<9>; .reg .b64 %pi, %po, %ps, %w<9>; .reg .f32 %f<8>; .reg .f64 %g<8>;\n")
	if strings.Contains(f.Body, "smem") {
		fmt.Fprintf(b, ".shared .align 16 .b8 smem[%d];\n", Block*scratch)
	}
	if strings.Contains(f.Body, "lmem") {
		fmt.Fprintf(b, ".local .align 16 .b8 lmem[%d];\n", scratch)
	}
	b.WriteString("mov.u32 %t0, %ctaid.x; mov.u32 %t1, %ntid.x; mov.u32 %t2, %tid.x; mad.lo.u32 %i, %t0, %t1, %t2;\n")
	b.WriteString("ld.param.u64 %pi, [in]; ld.param.u64 %po, [out]; ld.param.u64 %ps, [own];\n")
	b.WriteString("cvta.to.global.u64 %pi, %pi; cvta.to.global.u64 %po, %po; cvta.to.global.u64 %ps, %ps;\n")
	fmt.Fprintf(b, "mad.wide.u32 %%pi, %%i, %d, %%pi; mad.wide.u32 %%po, %%i, %d, %%po; mad.wide.u32 %%ps, %%i, %d, %%ps;\n", 8*len(f.In), 8*len(f.Out), scratch)
	for i, in := range f.In {
		load(b, inRegs[i], typeOf(in), 8*i)
	}
	for i, out := range f.Out {
		clear(b, outRegs[i], out)
	}
	b.WriteString(f.Body)
	b.WriteByte('\n')
	for i, out := range f.Out {
		store(b, outRegs[i], out, 8*i)
	}
	b.WriteString("ret;\n}\n")
}

func load(b *strings.Builder, r, t string, at int) {
	fmt.Fprintf(b, ".reg .%s %s; ld.global.b64 %%w0, [%%pi+%d]; ", register(t), r, at)
	switch register(t) {
	case "pred":
		fmt.Fprintf(b, "setp.ne.u64 %s, %%w0, 0;\n", r)
	case "b16":
		fmt.Fprintf(b, "cvt.u16.u64 %s, %%w0;\n", r)
	case "b32", "f32":
		fmt.Fprintf(b, "cvt.u32.u64 %%t0, %%w0; mov.b32 %s, %%t0;\n", r)
	default:
		fmt.Fprintf(b, "mov.b64 %s, %%w0;\n", r)
	}
}

func clear(b *strings.Builder, r, t string) {
	fmt.Fprintf(b, ".reg .%s %s; ", register(t), r)
	switch register(t) {
	case "pred":
		fmt.Fprintf(b, "setp.ne.u64 %s, %%po, %%po;\n", r)
	case "b16":
		fmt.Fprintf(b, "mov.b16 %s, 0;\n", r)
	case "b32", "f32":
		fmt.Fprintf(b, "mov.b32 %s, 0;\n", r)
	default:
		fmt.Fprintf(b, "mov.b64 %s, 0;\n", r)
	}
}

func store(b *strings.Builder, r, t string, at int) {
	switch register(t) {
	case "pred":
		fmt.Fprintf(b, "selp.u64 %%w0, 1, 0, %s; ", r)
	case "b16":
		fmt.Fprintf(b, "cvt.u64.u16 %%w0, %s; ", r)
	case "b32", "f32":
		fmt.Fprintf(b, "mov.b32 %%t0, %s; cvt.u64.u32 %%w0, %%t0; ", r)
	default:
		fmt.Fprintf(b, "mov.b64 %%w0, %s; ", r)
	}
	fmt.Fprintf(b, "st.global.b64 [%%po+%d], %%w0;\n", at)
}

// Hash identifies the PTX and the operands, on which a form's results depend.
func (f *Form) Hash(operands []uint64) uint64 {
	h := sha256.New()
	h.Write([]byte(Module([]Form{*f})))
	b := make([]byte, 0, 8*len(operands))
	for _, x := range operands {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	h.Write(b)
	return binary.LittleEndian.Uint64(h.Sum(nil))
}
