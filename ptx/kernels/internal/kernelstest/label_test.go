package kernelstest

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/ptx/kernels"
)

// Drawings name the operation of a node, even if several operations share a kernel, and whether the
// node was added or captured.
func TestLabelsNameOperations(t *testing.T) {
	each(t, func(k *kit) {
		f, h := device(k, 0, []float32{1, 2}), device(k, 0, make([]kernels.F16, 2))
		b, d := device(k, 0, make([]kernels.BF16, 2)), device(k, 0, []float64{1, 2})
		i, u, l := device(k, 0, []int32{1, 2}), device(k, 0, []uint32{1, 2}), device(k, 0, []uint64{1, 2})
		want := []string{
			"add_f32", "max_f16", "mul_bf16", "div_f64", "sub_i32", "min_u32", "add_u64",
			"mul_scalar_f32", "add_scalar_f16", "subfrom_scalar_bf16", "divinto_scalar_f64", "max_scalar_u32",
			"relu_f32", "neg_f64", "silu_f16", "exp_bf16", "tanh_f32", "gelu_f64",
			"rmsnorm_f32", "layernorm_f16", "rmsnorm_bf16",
		}
		ops := []driver.Op{
			k.made(kernels.Add(f, f, f)), k.made(kernels.Maximum(h, h, h)), k.made(kernels.Mul(b, b, b)), k.made(kernels.Div(d, d, d)),
			k.made(kernels.Sub(i, i, i)), k.made(kernels.Minimum(u, u, u)), k.made(kernels.Add(l, l, l)),
			k.made(kernels.MulScalar(f, f, 2)), k.made(kernels.AddScalar(h, h, h0)), k.made(kernels.ScalarSub(b, b0, b)),
			k.made(kernels.ScalarDiv(d, 2, d)), k.made(kernels.MaximumScalar(u, u, 2)),
			k.made(kernels.ReLU(f, f)), k.made(kernels.Neg(d, d)), k.made(kernels.SiLU(h, h)), k.made(kernels.Exp(b, b)),
			k.made(kernels.Tanh(f, f)), k.made(kernels.GELU(d, d)),
			k.made(kernels.RMSNorm(kernels.MatrixOf(f, 1, 2), kernels.MatrixOf(f, 1, 2), nil, eps)),
			k.made(kernels.LayerNorm(kernels.MatrixOf(h, 1, 2), kernels.MatrixOf(h, 1, 2), nil, nil, eps)),
			k.made(kernels.RMSNorm(kernels.MatrixOf(b, 2, 1), kernels.MatrixOf(b, 2, 1), nil, eps)),
		}
		added, err := graph.New(k.c)
		k.ok(err)
		k.closeLater(added)
		_, err = added.AddBatch(nil, graph.Chain(ops))
		k.ok(err)
		captured, err := graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error { return sc.Do(ops...) })
		k.ok(err)
		k.closeLater(captured)
		for name, g := range map[string]*graph.Graph{"added": added, "captured": captured} {
			var got []string
			for n, err := range g.Nodes() {
				k.ok(err)
				got = append(got, n.Label())
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("%s: the labels are\n%v\nwant\n%v", name, got, want)
			}
		}
	})
}

var (
	h0 kernels.F16
	b0 kernels.BF16
)
