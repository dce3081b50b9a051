package cu

// CuGraphInstantiate is [Driver.CuGraphInstantiateWithFlags], to which the header of CUDA 12 and
// later maps this C name.
func (d *Driver) CuGraphInstantiate(phGraphExec *CUgraphExec, hGraph CUgraph, flags uint64) error {
	return d.CuGraphInstantiateWithFlags(phGraphExec, hGraph, flags)
}
