package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
)

func TestParametersOfAnotherTypeAreRefusedByName(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		kernel := k.add(g, k.launch(k.plus, b, 5))
		empty, err := g.AddEmpty()
		k.ok(err)
		for name, err := range map[string]error{
			"KernelParams":          second(graph.ParamsOf[cu.CUDA_KERNEL_NODE_PARAMS](empty)),
			"CopyParams":            second(graph.ParamsOf[cu.CUDA_MEMCPY3D](kernel)),
			"FillParams":            second(graph.ParamsOf[cu.CUDA_MEMSET_NODE_PARAMS](kernel)),
			"HostParams":            second(graph.ParamsOf[cu.CUDA_HOST_NODE_PARAMS](kernel)),
			"Event":                 second(graph.ParamsOf[driver.CUevent](kernel)),
			"MemOpParams":           second(graph.ParamsOf[cu.CUDA_BATCH_MEM_OP_NODE_PARAMS](kernel)),
			"SemaphoreSignalParams": second(graph.ParamsOf[cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS](kernel)),
			"SemaphoreWaitParams":   second(graph.ParamsOf[cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS](kernel)),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "it is of type") {
				k.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestOperationsOfAnotherTypeAreRefusedByName(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		fill, err := driver.Fill[uint32](b, 4)
		k.ok(err)
		nothing, err := driver.Fill(b.All().View(0, 0), 4)
		k.ok(err)
		g := k.graph()
		l := k.launch(k.plus, b, 5)
		n, f := k.add(g, l), k.add(g, fill)
		x := k.exec(g)
		for name, c := range map[string]struct {
			err  error
			says string
		}{
			"kernel set to a fill":                          {n.Set(fill), "it is of type CU_GRAPH_NODE_TYPE_KERNEL"},
			"fill set to a kernel":                          {f.Set(l), "it is of type CU_GRAPH_NODE_TYPE_MEMSET"},
			"kernel set to a fill in the executable":        {x.Set(n, fill), "it is of type CU_GRAPH_NODE_TYPE_KERNEL"},
			"fill set to a kernel in the executable":        {x.Set(f, l), "it is of type CU_GRAPH_NODE_TYPE_MEMSET"},
			"fill set to one of no bytes":                   {f.Set(nothing), "no bytes"},
			"fill set to one of no bytes in the executable": {x.Set(f, nothing), "no bytes"},
		} {
			var code driver.CUresult // the driver's to choose
			if !errors.As(c.err, &code) || !strings.Contains(c.err.Error(), c.says) {
				k.Errorf("%s: %v", name, c.err)
			}
		}
	})
}
