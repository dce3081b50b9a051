package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/examples/internal/safetensors"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/num"
)

// saved writes a model's weights to a file and returns both.
func saved(t *testing.T) (path string, w *weights) {
	t.Helper()
	path, w = filepath.Join(gputest.TempDir(t), "model.safetensors"), newWeights(small, 5)
	if err := w.save(path); err != nil {
		t.Fatal(err)
	}
	return path, w
}

// changed replaces a file with a copy whose metadata is text. change may change or omit each
// tensor.
func changed(t *testing.T, path string, text map[string]string, change func(*safetensors.Tensor) (keep bool)) {
	t.Helper()
	f, err := safetensors.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []safetensors.Tensor
	for _, name := range f.Names() {
		if x, _ := f.Tensor(name); change(&x) {
			list = append(list, x)
		}
	}
	var out bytes.Buffer
	if err := safetensors.Write(&out, text, list); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func all(*safetensors.Tensor) bool { return true }

func TestModelIsSavedAndRead(t *testing.T) {
	path, w := saved(t)
	got, err := readWeights(path, config{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, w) {
		t.Errorf("%v was read as %v, or other weights were", w.config, got.config)
	}
}

func TestModelFromAFile(t *testing.T) {
	path := filepath.Join(gputest.TempDir(t), "model.safetensors")
	o := example
	o.seed, o.save = 5, path
	if err := demo.Run("emulator", io.Discard, o.run); err != nil {
		t.Fatal(err)
	}
	var made, read bytes.Buffer
	o.save, o.tokens = "", 4
	if err := demo.Run("emulator", &made, o.run); err != nil {
		t.Fatal(err)
	}
	o.file, o.shape = path, config{}
	if err := demo.Run("emulator", &read, o.run); err != nil {
		t.Fatal(err)
	}
	line := func(b bytes.Buffer) string { return strings.Split(b.String(), "\n")[2] }
	if line(made) != line(read) || !strings.Contains(line(read), "4 tokens: [1 2 3 ") {
		t.Errorf("made: %s\nread: %s", line(made), line(read))
	}
}

// Files from other programs can have 16-bit elements and no metadata. They can also omit the last
// matrix, and the embedding is then used instead.
func TestModelIn16Bits(t *testing.T) {
	path, w := saved(t)
	changed(t, path, nil, func(x *safetensors.Tensor) bool {
		list, err := x.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		x.Type, x.Data = safetensors.BF16, nil
		for _, v := range list {
			b := num.ToBF16(v).Bits()
			x.Data = append(x.Data, byte(b), byte(b>>8))
		}
		if x.Name == lastName { // present in old files, and ignored
			*x = safetensors.FromFloat32s("model.layers.0.self_attn.rotary_emb.inv_freq", list[:4], 4)
		}
		return true
	})
	if _, err := readWeights(path, config{}); err == nil || !strings.Contains(err.Error(), "give -heads") {
		t.Error(err)
	}
	got, err := readWeights(path, config{heads: small.heads})
	if err != nil {
		t.Fatal(err)
	}
	if got.config != small || &got.last[0] != &got.embedding[0] {
		t.Errorf("%+v", got.config)
	}
	for i, v := range w.blocks[1].gateUp {
		if d := got.blocks[1].gateUp[i]/v - 1; d > 1.0/256 || d < -1.0/256 {
			t.Fatalf("element %d is %v, it was %v", i, got.blocks[1].gateUp[i], v)
		}
	}
}

func TestBadModelsAreRefused(t *testing.T) {
	text := func(heads string) map[string]string { return map[string]string{"heads": heads} }
	without := func(name string) func(*safetensors.Tensor) bool {
		return func(x *safetensors.Tensor) bool { return x.Name != name }
	}
	for want, c := range map[string]struct {
		text   map[string]string
		change func(*safetensors.Tensor) bool
	}{
		"metadata: heads":         {text("six"), all},
		"metadata: base":          {map[string]string{"heads": "6", "base": "much"}, all},
		"give -heads":             {text("5"), all},
		"give -heads ":            {text("-6"), all},
		"it must be a power":      {text("4"), all},
		"of the Llama family?":    {text("6"), without(embeddingName)},
		`"` + normName + `"`:      {text("6"), without(normName)},
		"layers.1.self_attn.o_pr": {text("6"), without(name(1, "self_attn.o_proj"))},
		"layers.0.mlp.gate_proj":  {text("6"), without(name(0, "mlp.gate_proj"))},
		"[96 48] is needed": {text("6"), func(x *safetensors.Tensor) bool {
			if x.Name == lastName {
				x.Shape = []int{48, 96}
			}
			return true
		}},
		"a matrix is needed": {text("6"), func(x *safetensors.Tensor) bool {
			if x.Name == embeddingName {
				x.Shape = []int{96 * 48}
			}
			return true
		}},
		"elements of type I32": {text("6"), func(x *safetensors.Tensor) bool {
			if x.Name == normName {
				x.Type = "I32"
			}
			return true
		}},
		"not a multiple": {text("6"), func(x *safetensors.Tensor) bool {
			if x.Name == name(0, "self_attn.k_proj") {
				x.Shape, x.Data = []int{32, 48}, make([]byte, 32*48*4)
			}
			return true
		}},
		`"bias" has no place`: {text("6"), func(x *safetensors.Tensor) bool {
			if x.Name == lastName {
				x.Name = "bias"
			}
			return true
		}},
		"layers.3.input_layernorm": {text("6"), func(x *safetensors.Tensor) bool {
			x.Name = strings.Replace(x.Name, "layers.1", "layers.3", 1) // breaks the sequence of layer numbers
			return true
		}},
	} {
		path, _ := saved(t)
		changed(t, path, c.text, c.change)
		_, err := readWeights(path, config{})
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("it says %v, not %q", err, want)
		}
	}
}
