package main

import (
	"math"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/ptx/kernels"
)

// step collects the operations of a step and keeps the first error.
type step struct {
	*model
	err error
}

func (s *step) do(op driver.Op, err error) {
	if s.err == nil {
		s.err = err
	}
	s.ops = append(s.ops, op)
}

type array interface {
	driver.MemoryOf[float32]
	Len() int
}

func (s *step) multiply(y array, matrix vector, x array) {
	s.do(kernels.Gemv(y, kernels.MatrixOf(matrix, y.Len(), x.Len()), x))
}

// norm adds normed = norm(x) * weight to the step.
func (s *step) norm(weight vector) {
	s.do(kernels.RMSNorm(kernels.MatrixOf(s.normed, 1, s.dim), kernels.MatrixOf(s.x, 1, s.dim), weight, float32(s.epsilon)))
}

// prepare creates the operations of a step, which computes the next token. The operations
// are the same at every position, because they read the token and the position from device
// memory.
func (m *model) prepare() error {
	embedding, err := demo.MemoryFrom(m.Demo, m.embedding)
	if err != nil {
		return err
	}
	norm, err := demo.MemoryFrom(m.Demo, m.norm)
	if err != nil {
		return err
	}
	last, err := demo.MemoryFrom(m.Demo, m.last)
	if err != nil {
		return err
	}
	s := &step{model: m}
	s.do(kernels.Gather(m.x, embedding, m.token, m.dim))
	for _, l := range m.blocks {
		w, err := m.upload(l)
		if err != nil {
			return err
		}
		s.attention(w)
		s.mlp(w)
	}
	s.norm(norm)
	s.multiply(m.logits, last, m.normed)
	s.choose()
	s.do(driver.Download(m.seen, m.sequence))
	return s.err
}

// attention adds x += output · attention(norm(x)) to the step.
func (s *step) attention(w memory) {
	d, queries, keys := s.head(), s.dim, s.pairs*s.head()
	query, key := s.projected.View(0, queries), s.projected.View(queries, queries+keys)
	value, turned := s.projected.View(queries+keys, queries+2*keys), s.projected.View(0, queries+keys)
	heads := kernels.Heads[float32]{Mem: turned, Tokens: 1, Heads: s.heads + s.pairs, Dim: d}

	s.norm(w.attentionNorm)
	s.multiply(s.projected, w.projections, s.normed)
	s.do(kernels.Rope(heads, heads, s.position, s.frequencies, kernels.Halves))
	s.do(s.extend.Op(s.extend.Grid(keys), w.keys, w.values, key, value, s.position))
	s.do(s.attend.Op(s.attend.Grid(s.heads*threads), s.mean, query, w.keys, w.values, s.position,
		uint32(d), uint32(keys), uint32(s.heads/s.pairs), float32(1/math.Sqrt(float64(d)))))
	s.multiply(s.back, w.output, s.mean)
	s.do(kernels.Add(s.x, s.x, s.back))
}

// mlp adds x += down · (silu(gate · norm(x)) * up · norm(x)) to the step.
func (s *step) mlp(w memory) {
	gate, up := s.both.View(0, s.hidden), s.both.View(s.hidden, 2*s.hidden)
	s.norm(w.mlpNorm)
	s.multiply(s.both, w.gateUp, s.normed)
	s.do(kernels.SiLU(gate, gate))
	s.do(kernels.Mul(gate, gate, up))
	s.multiply(s.back, w.down, gate)
	s.do(kernels.Add(s.x, s.x, s.back))
}

// choose selects the token with the largest logit. With a temperature, it selects a random
// token, weighted by the softmax of the logits. It also increments the position.
func (s *step) choose() {
	from := s.logits
	if s.temperature > 0 {
		from = s.scores
		s.do(s.perturb.Op(s.perturb.Grid(s.vocabulary), s.scores, s.logits, s.position, uint32(s.seed), float32(1/s.temperature)))
	}
	s.do(kernels.Argmax(s.token, from, s.work))
	s.do(s.advance.Op(s.advance.Grid(1), s.sequence, s.token, s.position, int32(len(s.prompt))))
}
