// Package cu is a small package cu for the generator's test.
package cu

type Function int

const (
	FnCuGraphLaunch Function = iota
	FnCuGraphUpload
)

type functions struct{ cuGraphCreate, cuThreadExchangeStreamCaptureMode int }

type Driver struct{ fn functions }

func (d *Driver) CuGraphCreate() error               { d.fn.cuGraphCreate++; return nil }
func (d *Driver) CuGraphDestroy() error              { return nil }
func (d *Driver) CuGraphClone() error                { return nil }
func (d *Driver) CuGraphGetNodes() error             { return nil }
func (d *Driver) CuGraphGetEdges() error             { return nil }
func (d *Driver) CuGraphGetEdges_v10000() error      { return nil }
func (d *Driver) CuGraphInstantiate() error          { return d.CuGraphInstantiateWithFlags() }
func (d *Driver) CuGraphInstantiateWithFlags() error { return nil }
func (d *Driver) Has(f Function) bool                { return f == FnCuGraphUpload }

// Guarded refers to a field of the function table.
func (d *Driver) Guarded() int { return d.fn.cuThreadExchangeStreamCaptureMode }

type Batch struct{}

func (b *Batch) GraphLaunch() Function { return FnCuGraphLaunch }
