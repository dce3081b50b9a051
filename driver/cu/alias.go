package cu

// CuGraphInstantiate calls [Driver.CuGraphInstantiateWithFlags]. The header of CUDA 12 and later
// maps this C name to that function.
func (d *Driver) CuGraphInstantiate(phGraphExec *CUgraphExec, hGraph CUgraph, flags uint64) error {
	return d.CuGraphInstantiateWithFlags(phGraphExec, hGraph, flags)
}
