package emulator

import "github.com/purecuda/cuda/driver/cu"

var graphNodeFunctions = functions{
	"cuGraphAddKernelNode":            {cuGraphAddKernelNodeV1, afterInit},
	"cuGraphAddKernelNode_v2":         {cuGraphAddKernelNodeV2, afterInit},
	"cuGraphKernelNodeGetParams":      {cuGraphKernelNodeGetParamsV1, afterInit},
	"cuGraphKernelNodeGetParams_v2":   {cuGraphKernelNodeGetParamsV2, afterInit},
	"cuGraphKernelNodeSetParams":      {cuGraphKernelNodeSetParamsV1, afterInit},
	"cuGraphKernelNodeSetParams_v2":   {cuGraphKernelNodeSetParamsV2, afterInit},
	"cuGraphKernelNodeCopyAttributes": {cuGraphKernelNodeCopyAttributes, afterInit},
	"cuGraphKernelNodeGetAttribute":   {cuGraphKernelNodeGetAttribute, afterInit},
	"cuGraphKernelNodeSetAttribute":   {cuGraphKernelNodeSetAttribute, afterInit},
	"cuGraphAddMemcpyNode":            {cuGraphAddMemcpyNode, afterInit},
	"cuGraphMemcpyNodeGetParams":      {cuGraphMemcpyNodeGetParams, afterInit},
	"cuGraphMemcpyNodeSetParams":      {cuGraphMemcpyNodeSetParams, afterInit},
	"cuGraphAddMemsetNode":            {cuGraphAddMemsetNode, afterInit},
	"cuGraphMemsetNodeGetParams":      {cuGraphMemsetNodeGetParams, afterInit},
	"cuGraphMemsetNodeSetParams":      {cuGraphMemsetNodeSetParams, afterInit},
	"cuGraphAddHostNode":              {cuGraphAddHostNode, afterInit},
	"cuGraphHostNodeGetParams":        {cuGraphHostNodeGetParams, afterInit},
	"cuGraphHostNodeSetParams":        {cuGraphHostNodeSetParams, afterInit},
	"cuGraphAddChildGraphNode":        {cuGraphAddChildGraphNode, afterInit},
	"cuGraphChildGraphNodeGetGraph":   {cuGraphChildGraphNodeGetGraph, afterInit},
	"cuGraphAddEmptyNode":             {cuGraphAddEmptyNode, afterInit},
	"cuGraphAddEventRecordNode":       {cuGraphAddEventRecordNode, afterInit},
	"cuGraphEventRecordNodeGetEvent":  {cuGraphEventRecordNodeGetEvent, afterInit},
	"cuGraphEventRecordNodeSetEvent":  {cuGraphEventRecordNodeSetEvent, afterInit},
	"cuGraphAddEventWaitNode":         {cuGraphAddEventWaitNode, afterInit},
	"cuGraphEventWaitNodeGetEvent":    {cuGraphEventWaitNodeGetEvent, afterInit},
	"cuGraphEventWaitNodeSetEvent":    {cuGraphEventWaitNodeSetEvent, afterInit},
	"cuGraphAddBatchMemOpNode":        {cuGraphAddBatchMemOpNode, afterInit},
	"cuGraphBatchMemOpNodeGetParams":  {cuGraphBatchMemOpNodeGetParams, afterInit},
	"cuGraphBatchMemOpNodeSetParams":  {cuGraphBatchMemOpNodeSetParams, afterInit},
	"cuGraphAddNode":                  {cuGraphAddNodeV1, afterInit},
	"cuGraphAddNode_v2":               {cuGraphAddNodeV2, afterInit},
	"cuGraphNodeSetParams":            {cuGraphNodeSetParams, afterInit},
}

// addNode is the common part of the functions that add a node. Their arguments begin with (node *,
// graph, dependencies, [data,] count). It calls make after it has resolved the graph and checked
// the dependencies.
func addNode(c call, dataArg, countArg int, make func(g *graph) (nodeParams, result)) result {
	g, r := graphAt(c, 1)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil:
		return errInvalidValue
	}
	deps, r := edgesAt(c, g, 2, dataArg, countArg)
	if r != success {
		return r
	}
	p, r := make(g)
	if r != success {
		return r
	}
	if r := checkTarget(p, deps...); r != success {
		return r
	}
	return put(c, 0, g.add(p, deps).handle)
}

// nodeOf returns the node of argument i if it has parameters of type P.
func nodeOf[P nodeParams](c call, i int) (*node, P, result) {
	var none P
	n, r := nodeAt(c, i)
	if r != success {
		return nil, none, r
	}
	p, ok := n.params.(P)
	if !ok {
		return nil, none, errInvalidValue
	}
	return n, p, success
}

func cuGraphAddEmptyNode(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) { return &emptyNode{}, success })
}

// emptyNode does nothing except join dependencies.
type emptyNode struct{}

func (*emptyNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_EMPTY }

func (*emptyNode) run(*execution) result { return success }
