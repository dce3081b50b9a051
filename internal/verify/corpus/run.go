package corpus

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/purecuda/cuda/driver"
)

// Output is the contents of a buffer or variable after a step.
type Output struct {
	Arg   *Arg
	Bytes []byte
}

// Result holds all outputs of a step.
type Result struct {
	Step    string // "sum", or "sum.2" for its second launch
	Outputs []Output
}

// Run loads the PTX of a source in build b, runs all steps for b, and returns the
// outputs of each. It unloads the module and frees all memory.
func (src *Source) Run(c *driver.Context, b Build, ptx string) ([]Result, error) {
	return src.run(c, b, ptx, nil)
}

// again is called after each launch (see Repeat).
type again func(step string, refill func() error, launch func(n int) error) error

func (src *Source) run(c *driver.Context, b Build, ptx string, again again) ([]Result, error) {
	m, err := c.LoadModule([]byte(ptx))
	if err != nil {
		return nil, &LoadError{err}
	}
	stream, err := c.NewStream()
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	r := runner{src: src, m: m, stream: stream, seen: make(map[string]int), again: again}
	results, err := r.steps(b)
	return results, errors.Join(err, stream.Close(), m.Close())
}

// LoadError means that the driver rejected a module.
type LoadError struct{ Cause error }

func (e *LoadError) Error() string { return "load: " + e.Cause.Error() }
func (e *LoadError) Unwrap() error { return e.Cause }

type runner struct {
	src    *Source
	m      *driver.Module
	stream *driver.Stream
	seen   map[string]int
	again  again // may be nil
}

func (r *runner) steps(b Build) (all []Result, err error) {
	for i := range r.src.Steps {
		s := &r.src.Steps[i]
		name := r.name(s)
		if !b.Runs(*s) {
			continue
		}
		outputs, err := r.step(name, s)
		if err != nil {
			return all, fmt.Errorf("%s: %s: %w", r.src.Name, name, err)
		}
		if len(outputs) > 0 {
			all = append(all, Result{Step: name, Outputs: outputs})
		}
	}
	return all, nil
}

// name returns the step's name. From the second step with that name on, it appends a number. Steps
// that the build skips also count.
func (r *runner) name(s *Step) string {
	r.seen[s.Name]++
	if n := r.seen[s.Name]; n > 1 {
		return fmt.Sprintf("%s.%d", s.Name, n)
	}
	return s.Name
}

func (r *runner) seed(name string) string { return r.src.Name + "/" + name }

func (r *runner) step(name string, s *Step) ([]Output, error) {
	if s.Kind == Launch {
		return r.launch(name, s)
	}
	a := &s.Args[0]
	v, err := r.m.Global(s.Name)
	if err != nil {
		return nil, err
	}
	if s.Kind == Set {
		return nil, v.CopyFrom(a.bytes(r.seed(name)))
	}
	got := make([]byte, a.Count*a.Type.Size)
	err = v.CopyTo(got)
	return []Output{{a, got}}, err
}

func (r *runner) launch(name string, s *Step) (outputs []Output, err error) {
	k, err := r.m.Kernel(s.Name)
	if err != nil {
		return nil, err
	}
	mem := memory{c: r.m.Context(), seed: r.seed(name), byName: make(map[string]*driver.Buffer[byte])}
	defer func() { err = errors.Join(err, mem.close()) }()
	args, err := mem.args(s.Args)
	if err != nil {
		return nil, err
	}
	cfg := driver.LaunchConfig{Grid: s.Grid, Block: s.Block, SharedMem: s.Shared, Cluster: s.Cluster}
	launch, err := k.Prepare(cfg, args...)
	if err != nil {
		return nil, err
	}
	if err := r.stream.Do(launch); err != nil {
		return nil, err
	}
	if err := r.stream.Wait(context.Background()); err != nil {
		return nil, err
	}
	if outputs, err = mem.outputs(); err != nil {
		return nil, err
	}
	return outputs, r.repeat(name, launch, &mem)
}

// memory holds the buffers of one launch, in argument order.
type memory struct {
	c       *driver.Context
	seed    string
	buffers []*driver.Buffer[byte]
	of      []*Arg
	byName  map[string]*driver.Buffer[byte]
}

func (m *memory) close() error {
	var errs []error
	for _, b := range m.buffers {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

func (m *memory) outputs() ([]Output, error) {
	var all []Output
	for i, b := range m.buffers {
		got := make([]byte, b.Len())
		if err := b.CopyTo(got); err != nil {
			return nil, err
		}
		all = append(all, Output{m.of[i], got})
	}
	return all, nil
}

func (m *memory) args(list []Arg) ([]any, error) {
	var args []any
	for i := range list {
		v, err := m.arg(&list[i])
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	return args, nil
}

func (m *memory) arg(a *Arg) (any, error) {
	switch {
	case a.Buffer:
		return m.buffer(a)
	case a.Null:
		return driver.CUdeviceptr(0), nil
	case a.Same != "":
		if b := m.byName[a.Same]; b != nil {
			return b, nil
		}
		return nil, fmt.Errorf("there is no buffer %s before %s", a.Same, a.Name)
	case a.Fields != nil:
		return m.structure(a)
	}
	return a.scalar(), nil
}

func (m *memory) buffer(a *Arg) (*driver.Buffer[byte], error) {
	b, err := driver.AllocFrom(m.c, a.bytes(m.seed))
	if err != nil {
		return nil, err
	}
	m.buffers, m.of = append(m.buffers, b), append(m.of, a)
	m.byName[a.Name] = b
	return b, nil
}

// scalar returns the argument's number as a Go value of the matching type.
func (a *Arg) scalar() any {
	b := a.valueBytes()
	bits := a.Type.bits(b)
	switch {
	case a.Type.kind == float && a.Type.Size == 4:
		return float32(a.Value)
	case a.Type.kind == float:
		return a.Value
	case a.Type.Size == 1:
		return uint8(bits)
	case a.Type.Size == 2:
		return uint16(bits)
	case a.Type.Size == 4:
		return uint32(bits)
	}
	return bits
}

func (a *Arg) valueBytes() []byte {
	b := make([]byte, a.Type.Size)
	if a.Integer && !a.Type.IsFloat() {
		a.Type.putBits(b, a.Bits)
	} else {
		a.Type.put(b, a.Value)
	}
	return b
}

// structure returns the fields of a struct argument in C's layout, as a Go array of bytes.
func (m *memory) structure(a *Arg) (any, error) {
	bytes, _, err := m.layOut(a.Fields)
	if err != nil {
		return nil, err
	}
	array := reflect.New(reflect.ArrayOf(len(bytes), reflect.TypeFor[byte]())).Elem()
	reflect.Copy(array, reflect.ValueOf(bytes))
	return array.Interface(), nil
}

func (m *memory) layOut(fields []Arg) (bytes []byte, align int, err error) {
	align = 1
	for i := range fields {
		field, fieldAlign, err := m.field(&fields[i])
		if err != nil {
			return nil, 0, err
		}
		bytes = append(pad(bytes, fieldAlign), field...)
		align = max(align, fieldAlign)
	}
	return pad(bytes, align), align, nil
}

func (m *memory) field(a *Arg) (bytes []byte, align int, err error) {
	if a.Fields != nil {
		return m.layOut(a.Fields)
	}
	v, err := m.arg(a)
	if err != nil {
		return nil, 0, err
	}
	if b, ok := v.(*driver.Buffer[byte]); ok {
		v = uint64(b.Ptr())
	} else if p, ok := v.(driver.CUdeviceptr); ok {
		v = uint64(p)
	}
	if address, ok := v.(uint64); ok {
		bytes = make([]byte, 8)
		Elem{Size: 8}.putBits(bytes, address)
		return bytes, 8, nil
	}
	return a.valueBytes(), a.Type.Size, nil
}

func pad(b []byte, align int) []byte {
	for len(b)%align != 0 {
		b = append(b, 0)
	}
	return b
}
