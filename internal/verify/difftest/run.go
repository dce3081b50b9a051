package difftest

import (
	"context"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// Device runs forms on a device.
type Device struct {
	ctx          *driver.Context
	in, out, own *driver.Buffer[uint64]
	stream       *driver.Stream
}

// NewDevice allocates the buffers for one form's operands and results.
func NewDevice(c *driver.Context) (*Device, error) {
	d := &Device{ctx: c}
	err := d.open()
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Device) open() (err error) {
	for _, b := range []**driver.Buffer[uint64]{&d.in, &d.out, &d.own} {
		if *b, err = driver.Alloc[uint64](d.ctx, 4*Tuples); err != nil {
			return err
		}
	}
	d.stream, err = d.ctx.NewStream()
	return err
}

// Close frees the buffers.
func (d *Device) Close() error {
	return errors.Join(d.stream.Close(), d.in.Close(), d.out.Close(), d.own.Close())
}

// Answer contains a device's results for a form's operands, or the reason why the device rejects
// the form.
type Answer struct {
	Operands, Results []uint64
	Refused           error
}

const perModule = 24

// Run executes the forms and calls the function use with each answer and the index of its form.
// If the driver rejects a module, Run splits the module until it has isolated the rejected
// forms.
func (d *Device) Run(forms []Form, use func(i int, a Answer)) error {
	for from := 0; from < len(forms); from += perModule {
		some, err := d.module(forms[from:min(from+perModule, len(forms))])
		if err != nil {
			return err
		}
		for i, a := range some {
			use(from+i, a)
		}
	}
	return nil
}

func (d *Device) module(forms []Form) ([]Answer, error) {
	m, err := d.ctx.LoadModule([]byte(Module(forms)))
	switch {
	case err != nil && len(forms) == 1:
		return []Answer{{Operands: forms[0].Operands(), Refused: err}}, nil
	case err != nil:
		return d.halves(forms)
	}
	answers, err := d.kernels(m, forms)
	return answers, errors.Join(err, m.Close())
}

func (d *Device) halves(forms []Form) ([]Answer, error) {
	mid := len(forms) / 2
	a, err := d.module(forms[:mid])
	if err != nil {
		return nil, err
	}
	b, err := d.module(forms[mid:])
	return append(a, b...), err
}

func (d *Device) kernels(m *driver.Module, forms []Form) ([]Answer, error) {
	answers := make([]Answer, len(forms))
	for i := range forms {
		k, err := m.Kernel(fmt.Sprintf("k%d", i))
		if err == nil {
			answers[i].Operands = forms[i].Operands()
			answers[i].Results, err = d.kernel(k, answers[i].Operands, len(forms[i].Out))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", forms[i].Name, err)
		}
	}
	return answers, nil
}

func (d *Device) kernel(k *driver.Kernel, operands []uint64, results int) ([]uint64, error) {
	in := make([]uint64, d.in.Len())
	copy(in, operands)
	if err := d.in.CopyFrom(in); err != nil {
		return nil, err
	}
	cfg := driver.LaunchConfig{Grid: driver.D1(Tuples / Block), Block: driver.D1(Block)}
	if err := k.Launch(d.stream, cfg, d.in, d.out, d.own); err != nil {
		return nil, err
	}
	if err := d.stream.Wait(context.Background()); err != nil {
		return nil, err
	}
	all := make([]uint64, d.out.Len())
	err := d.out.CopyTo(all)
	return all[:Tuples*results], err
}
