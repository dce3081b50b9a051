package emulator

import "github.com/purecuda/cuda/driver/cu"

var peerFunctions = functions{
	"cuDeviceCanAccessPeer":   {cuDeviceCanAccessPeer, afterInit},
	"cuDeviceGetP2PAttribute": {cuDeviceGetP2PAttribute, afterInit},
	"cuCtxEnablePeerAccess":   {cuCtxEnablePeerAccess, current},
	"cuCtxDisablePeerAccess":  {cuCtxDisablePeerAccess, current},
}

// peerMask returns a bit for each device whose memory kernels of the context may access.
func (ctx *cudaContext) peerMask() uint64 {
	ctx.e.mu.Lock()
	defer ctx.e.mu.Unlock()
	var mask uint64
	for peer := range ctx.peers {
		mask |= 1 << peer.dev.ordinal
	}
	return mask
}

func cuDeviceCanAccessPeer(c call) result {
	a, b := deviceAt(c, 1), deviceAt(c, 2)
	if a == nil || b == nil {
		return errInvalidDevice
	}
	return put(c, 0, flag(a != b))
}

func cuDeviceGetP2PAttribute(c call) result {
	a, b := deviceAt(c, 2), deviceAt(c, 3)
	switch {
	case a == nil || b == nil || a == b:
		return errInvalidDevice
	case c.Ptr(0) == nil:
		return errInvalidValue
	}
	switch cu.CUdevice_P2PAttribute(c.Uint32(1)) {
	case cu.CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
		return put(c, 0, int32(0))
	case cu.CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED,
		cu.CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
		return put(c, 0, int32(1))
	case cu.CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED,
		cu.CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
		return put(c, 0, int32(0))
	}
	return errInvalidValue
}

// peerAt returns the context of argument 0, which must be alive.
func peerAt(c call) (*cudaContext, result) {
	peer := handleAt[cudaContext](c, 0)
	if peer == nil || !peer.alive {
		return nil, errInvalidContext
	}
	return peer, success
}

func cuCtxEnablePeerAccess(c call) result {
	peer, r := peerAt(c)
	switch {
	case r != success:
		return r
	case c.Uint32(1) != 0:
		return errInvalidValue
	case peer.dev == c.ctx.dev:
		return errPeerUnsupported
	}
	if _, ok := c.ctx.peers[peer]; ok {
		return cu.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
	}
	c.ctx.peers[peer] = struct{}{}
	return success
}

func cuCtxDisablePeerAccess(c call) result {
	peer, r := peerAt(c)
	if r != success {
		return r
	}
	if _, ok := c.ctx.peers[peer]; !ok {
		return cu.CUDA_ERROR_PEER_ACCESS_NOT_ENABLED
	}
	delete(c.ctx.peers, peer)
	return success
}
