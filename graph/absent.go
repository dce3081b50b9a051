package graph

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/absent"
)

// What methods of nil and of zero objects report.
var (
	aBinding = absent.Kind{Name: "Bindings", Make: "Exec.Bindings", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aBurst   = absent.Kind{Name: "Burst", Make: "Scope.Burst", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aCapture = absent.Kind{Name: "capture", Make: "graph.Begin", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aCond    = absent.Kind{Name: "Cond", Make: "Graph.NewCond or Scope.NewCond", Code: driver.CUDA_ERROR_INVALID_VALUE}
	anExec   = absent.Kind{Name: "executable graph", Make: "Graph.Instantiate", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aGraph   = absent.Kind{Name: "graph", Make: "graph.New or graph.Capture", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aNode    = absent.Kind{Name: "Node", Make: "Graph.Add or another method of Graph", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aParam   = absent.Kind{Name: "Param", Make: "graph.Bind or graph.BindName", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aPlan    = absent.Kind{Name: "graph plan", Make: "graph.NewPlan", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aPool    = absent.Kind{Name: "keep-alive pool", Make: "graph.NewPool", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aScalar  = absent.Kind{Name: "scalar", Make: "graph.NewScalar", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aScope   = absent.Kind{Name: "Scope", Make: "graph.Capture or graph.Begin", Code: driver.CUDA_ERROR_INVALID_VALUE}
)

// absentName is what String returns for such an object.
func absentName(isNil bool, k *absent.Kind) string {
	if isNil {
		return "nil " + k.Name
	}
	return "zero " + k.Name
}
