package misusetest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

func TestParametersOfAnotherTypeAreRefusedByName(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		kernel := k.Add(g, k.Launch(k.Plus, b, 5))
		empty, err := g.AddEmpty()
		k.OK(err)
		for name, err := range map[string]error{
			"KernelParams":          graphtest.Second(graph.ParamsOf[cu.CUDA_KERNEL_NODE_PARAMS](empty)),
			"CopyParams":            graphtest.Second(graph.ParamsOf[cu.CUDA_MEMCPY3D](kernel)),
			"FillParams":            graphtest.Second(graph.ParamsOf[cu.CUDA_MEMSET_NODE_PARAMS](kernel)),
			"HostParams":            graphtest.Second(graph.ParamsOf[cu.CUDA_HOST_NODE_PARAMS](kernel)),
			"Event":                 graphtest.Second(graph.ParamsOf[driver.CUevent](kernel)),
			"MemOpParams":           graphtest.Second(graph.ParamsOf[cu.CUDA_BATCH_MEM_OP_NODE_PARAMS](kernel)),
			"SemaphoreSignalParams": graphtest.Second(graph.ParamsOf[cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS](kernel)),
			"SemaphoreWaitParams":   graphtest.Second(graph.ParamsOf[cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS](kernel)),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "it is of type") {
				k.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestOperationsOfAnotherTypeAreRefusedByName(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		fill, err := driver.Fill[uint32](b, 4)
		k.OK(err)
		nothing, err := driver.Fill(b.All().View(0, 0), 4)
		k.OK(err)
		g := k.Graph()
		l := k.Launch(k.Plus, b, 5)
		n, f := k.Add(g, l), k.Add(g, fill)
		x := k.Exec(g)
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
			var code driver.CUresult // any driver code
			if !errors.As(c.err, &code) || !strings.Contains(c.err.Error(), c.says) {
				k.Errorf("%s: %v", name, c.err)
			}
		}
	})
}
