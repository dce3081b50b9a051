package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/purecuda/cuda/examples/internal/safetensors"
)

// The names of tensors in Hugging Face's files of Llama models.
const (
	embeddingName = "model.embed_tokens.weight"
	normName      = "model.norm.weight"
	lastName      = "lm_head.weight"
)

// readWeights reads a model and derives its shape from the tensors. The other fields of config come
// from given or from the file's metadata, which save writes.
func readWeights(path string, given config) (*weights, error) {
	f, err := safetensors.Read(path)
	if err != nil {
		return nil, err
	}
	r := &reader{File: f, used: make(map[string]bool)}
	c := config{base: launchBound.base, epsilon: launchBound.epsilon}
	r.text("heads", func(s string) (err error) { c.heads, err = strconv.Atoi(s); return })
	r.text("base", func(s string) (err error) { c.base, err = strconv.ParseFloat(s, 64); return })
	r.text("epsilon", func(s string) (err error) { c.epsilon, err = strconv.ParseFloat(s, 64); return })
	w := r.weights(c.with(config{heads: given.heads, base: given.base, epsilon: given.epsilon}))
	r.others()
	if r.err != nil {
		return nil, fmt.Errorf("%s: %w", path, r.err)
	}
	return w, nil
}

// reader reads tensors from a file and keeps the first error.
type reader struct {
	*safetensors.File
	used map[string]bool
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) text(name string, set func(string) error) {
	if s, ok := r.Metadata[name]; ok {
		if err := set(s); err != nil {
			r.fail(fmt.Errorf("metadata: %s: %w", name, err))
		}
	}
}

// rows returns the number of rows of a matrix.
func (r *reader) rows(name string) int {
	t, ok := r.Tensor(name)
	if !ok {
		r.fail(fmt.Errorf("there is no tensor %q: not a model of the Llama family?", name))
		return 0
	}
	if len(t.Shape) != 2 {
		r.fail(fmt.Errorf("tensor %q has shape %d, a matrix is needed", name, t.Shape))
		return 0
	}
	return t.Shape[0]
}

// take appends the elements of a tensor to the slice. The tensor must have the given shape.
func (r *reader) take(to []float32, name string, shape ...int) []float32 {
	if r.err != nil {
		return nil
	}
	t, ok := r.Tensor(name)
	if !ok {
		r.fail(fmt.Errorf("there is no tensor %q", name))
		return nil
	}
	if fmt.Sprint(t.Shape) != fmt.Sprint(shape) {
		r.fail(fmt.Errorf("tensor %q has shape %d, %d is needed", name, t.Shape, shape))
		return nil
	}
	list, err := t.Float32s()
	if err != nil {
		r.fail(err)
	}
	r.used[name] = true
	return append(to, list...)
}

// others rejects a file that has tensors which the model does not use, such as a bias, because the
// results would be wrong. It ignores stored frequencies of the position embedding, because the
// program computes them.
func (r *reader) others() {
	for _, name := range r.Names() {
		if !r.used[name] && !strings.HasSuffix(name, ".rotary_emb.inv_freq") {
			r.fail(fmt.Errorf("tensor %q has no place in a model of the Llama family", name))
		}
	}
}

func (r *reader) weights(c config) *weights {
	c.vocabulary = r.rows(embeddingName)
	c.hidden = r.rows(name(0, "mlp.gate_proj"))
	for c.layers = 0; ; c.layers++ {
		if _, ok := r.Tensor(name(c.layers, "mlp.gate_proj")); !ok {
			break
		}
	}
	if r.err != nil {
		return nil
	}
	embedding, _ := r.Tensor(embeddingName)
	c.dim = embedding.Shape[1]
	if c.heads < 1 || c.dim%c.heads != 0 || c.head() == 0 {
		r.fail(fmt.Errorf("it does not say how many heads share the %d elements of a vector: give -heads", c.dim))
		return nil
	}
	c.pairs = r.rows(name(0, "self_attn.k_proj")) / c.head()
	if r.fail(c.check()); r.err != nil {
		return nil
	}
	w := &weights{config: c, embedding: r.take(nil, embeddingName, c.vocabulary, c.dim)}
	for i := range c.layers {
		w.blocks = append(w.blocks, r.layer(c, i))
	}
	w.norm = r.take(nil, normName, c.dim)
	w.last = w.embedding
	if _, ok := r.Tensor(lastName); ok {
		w.last = r.take(nil, lastName, c.vocabulary, c.dim)
	}
	return w
}

func (r *reader) layer(c config, i int) (l layer) {
	keys := c.pairs * c.head()
	l.attentionNorm = r.take(nil, name(i, "input_layernorm"), c.dim)
	l.projections = r.take(nil, name(i, "self_attn.q_proj"), c.dim, c.dim)
	l.projections = r.take(l.projections, name(i, "self_attn.k_proj"), keys, c.dim)
	l.projections = r.take(l.projections, name(i, "self_attn.v_proj"), keys, c.dim)
	l.output = r.take(nil, name(i, "self_attn.o_proj"), c.dim, c.dim)
	l.mlpNorm = r.take(nil, name(i, "post_attention_layernorm"), c.dim)
	l.gateUp = r.take(nil, name(i, "mlp.gate_proj"), c.hidden, c.dim)
	l.gateUp = r.take(l.gateUp, name(i, "mlp.up_proj"), c.hidden, c.dim)
	l.down = r.take(nil, name(i, "mlp.down_proj"), c.dim, c.hidden)
	return l
}

func name(layer int, part string) string {
	return fmt.Sprintf("model.layers.%d.%s.weight", layer, part)
}

// save writes a file that readWeights can read.
func (w *weights) save(path string) (err error) {
	list := []safetensors.Tensor{
		safetensors.FromFloat32s(embeddingName, w.embedding, w.vocabulary, w.dim),
		safetensors.FromFloat32s(normName, w.norm, w.dim),
		safetensors.FromFloat32s(lastName, w.last, w.vocabulary, w.dim),
	}
	for i, l := range w.blocks {
		list = append(list, w.tensors(i, l)...)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return safetensors.Write(f, map[string]string{
		"heads": strconv.Itoa(w.heads), "base": fmt.Sprint(w.base), "epsilon": fmt.Sprint(w.epsilon),
	}, list)
}

func (w *weights) tensors(i int, l layer) []safetensors.Tensor {
	matrix := func(part string, from []float32, columns int) safetensors.Tensor {
		return safetensors.FromFloat32s(name(i, part), from, len(from)/columns, columns)
	}
	queries, keys := w.dim*w.dim, w.pairs*w.head()*w.dim
	return []safetensors.Tensor{
		safetensors.FromFloat32s(name(i, "input_layernorm"), l.attentionNorm, w.dim),
		matrix("self_attn.q_proj", l.projections[:queries], w.dim),
		matrix("self_attn.k_proj", l.projections[queries:queries+keys], w.dim),
		matrix("self_attn.v_proj", l.projections[queries+keys:], w.dim),
		matrix("self_attn.o_proj", l.output, w.dim),
		safetensors.FromFloat32s(name(i, "post_attention_layernorm"), l.mlpNorm, w.dim),
		matrix("mlp.gate_proj", l.gateUp[:w.hidden*w.dim], w.dim),
		matrix("mlp.up_proj", l.gateUp[w.hidden*w.dim:], w.dim),
		matrix("mlp.down_proj", l.down, w.hidden),
	}
}
