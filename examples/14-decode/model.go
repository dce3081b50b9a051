package main

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/ptx/kernels"
)

type vector = *driver.Buffer[float32]

// model holds the weights and one sequence of limited length in device memory.
type model struct {
	*demo.Demo
	*weights
	options

	// The kernels in kernels.go.
	extend  Extend
	attend  Attend
	perturb Perturb
	advance Advance

	token    *driver.Buffer[int64]     // the input of a step; the step replaces it with the next token
	position *driver.Buffer[int32]     // position of that token
	sequence *driver.Buffer[int32]     // all tokens generated so far, in device memory
	seen     *driver.HostBuffer[int32] // the host's copy of the sequence

	frequencies, x, normed, back, mean vector // vectors of length dim, except frequencies
	projected, both                    vector // queries, keys and values in one vector, and gate and up projections in another
	logits, scores                     vector // vectors with one element for each token of the vocabulary
	work                               *kernels.Workspace

	ops []driver.Op // the operations of a step, in order
}

// newModel copies the weights to the device and prepares the operations of a step. The Demo
// closes everything.
func newModel(d *demo.Demo, w *weights, o options) (*model, error) {
	m := &model{Demo: d, weights: w, options: o}
	if err := m.kernels(); err != nil {
		return nil, err
	}
	if err := m.allocate(); err != nil {
		return nil, err
	}
	if err := m.allocateSequence(); err != nil {
		return nil, err
	}
	return m, m.prepare()
}

func (m *model) kernels() error {
	var errs [4]error
	m.extend, errs[0] = ExtendIn(m.Context)
	m.attend, errs[1] = AttendIn(m.Context)
	m.perturb, errs[2] = PerturbIn(m.Context)
	m.advance, errs[3] = AdvanceIn(m.Context)
	return errors.Join(errs[:]...)
}

func (m *model) allocate() (err error) {
	for _, a := range []struct {
		buffer *vector
		n      int
	}{
		{&m.x, m.dim}, {&m.normed, m.dim}, {&m.back, m.dim}, {&m.mean, m.dim},
		{&m.projected, m.config.projected()}, {&m.both, 2 * m.hidden}, {&m.logits, m.vocabulary}, {&m.scores, m.vocabulary},
	} {
		if *a.buffer, err = demo.Memory[float32](m.Demo, a.n, 0); err != nil {
			return err
		}
	}
	if m.frequencies, err = demo.MemoryFrom(m.Demo, kernels.RopeFrequencies(m.head()/2, m.base)); err != nil {
		return err
	}
	if m.work, err = kernels.NewWorkspace(m.Context); err == nil {
		m.Close(m.work)
	}
	return err
}

func (m *model) allocateSequence() (err error) {
	if m.token, err = demo.Memory[int64](m.Demo, 1, 0); err != nil {
		return err
	}
	if m.position, err = demo.Memory[int32](m.Demo, 1, 0); err != nil {
		return err
	}
	if m.sequence, err = demo.Memory[int32](m.Demo, m.tokens+1, 0); err != nil {
		return err
	}
	if m.seen, err = driver.AllocHost[int32](m.Context, m.tokens+1); err == nil {
		m.Close(m.seen)
	}
	return err
}

// reset starts a new sequence. No work may be in flight. The caches need not be cleared, because
// each step writes its position in the caches before reading it.
func (m *model) reset() error {
	tokens := make([]int32, m.tokens+1)
	copy(tokens, m.prompt)
	if err := m.sequence.CopyFrom(tokens); err != nil {
		return err
	}
	if err := m.position.Fill(0); err != nil {
		return err
	}
	return m.token.Fill(int64(tokens[0]))
}

// memory is the device memory of one layer: its weights, and the keys and values of all
// positions.
type memory struct {
	attentionNorm, projections, output, mlpNorm, gateUp, down vector
	keys, values                                              vector
}

func (m *model) upload(l layer) (w memory, err error) {
	for _, u := range []struct {
		buffer *vector
		from   []float32
	}{
		{&w.attentionNorm, l.attentionNorm}, {&w.projections, l.projections}, {&w.output, l.output},
		{&w.mlpNorm, l.mlpNorm}, {&w.gateUp, l.gateUp}, {&w.down, l.down},
	} {
		if *u.buffer, err = demo.MemoryFrom(m.Demo, u.from); err != nil {
			return w, err
		}
	}
	rows := m.tokens * m.pairs * m.head()
	if w.keys, err = demo.Memory[float32](m.Demo, rows, 0); err != nil {
		return w, err
	}
	w.values, err = demo.Memory[float32](m.Demo, rows, 0)
	return w, err
}
