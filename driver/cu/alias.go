package cu

// CuGraphInstantiate is what the header of CUDA 12 and later makes of that C
// name: [Driver.CuGraphInstantiateWithFlags].
func (d *Driver) CuGraphInstantiate(phGraphExec *CUgraphExec, hGraph CUgraph, flags uint64) error {
	return d.CuGraphInstantiateWithFlags(phGraphExec, hGraph, flags)
}
