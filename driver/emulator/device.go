package emulator

import (
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/budget"
	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

type device struct {
	e       *Emulator
	ordinal int
	attrs   map[cu.CUdevice_attribute]int32

	primary      *cudaContext
	primaryFlags uint32
	primaryRefs  int
	contexts     []*cudaContext // alive contexts, including the primary one

	// fault is the error that ended a kernel. It is sticky and affects the whole device: as with a
	// driver, calls in all old and new contexts return it. See Config.RecoverFaults.
	fault result

	budget.Device // counts the device's memory
	pools         devicePools
	graphs        budget.Graphs
}

func newDevice(e *Emulator, ordinal int) *device {
	d := &device{e: e, ordinal: ordinal, attrs: e.spec().Attributes(ordinal), Device: budget.New(e.cfg.LimitMemory)}
	d.primary = &cudaContext{e: e, dev: d, primary: true}
	d.primary.handle = e.register(d.primary)
	return d
}

var deviceFunctions = functions{
	"cuDeviceGet":                        {cuDeviceGet, afterInit},
	"cuDeviceGetCount":                   {cuDeviceGetCount, afterInit},
	"cuDeviceGetName":                    {cuDeviceGetName, afterInit},
	"cuDeviceGetUuid":                    {query(existingDevice, 1, 0, (*device).uuid), afterInit},
	"cuDeviceGetUuid_v2":                 {query(existingDevice, 1, 0, (*device).uuid), afterInit},
	"cuDeviceTotalMem_v2":                {query(existingDevice, 1, 0, func(d *device) uintptr { return uintptr(d.e.cfg.MemorySize) }), afterInit},
	"cuDeviceGetAttribute":               {cuDeviceGetAttribute, afterInit},
	"cuDeviceGetProperties":              {cuDeviceGetProperties, afterInit},
	"cuDeviceComputeCapability":          {cuDeviceComputeCapability, afterInit},
	"cuDeviceGetPCIBusId":                {cuDeviceGetPCIBusID, afterInit},
	"cuDeviceGetByPCIBusId":              {cuDeviceGetByPCIBusID, afterInit},
	"cuDeviceGetExecAffinitySupport":     {query(existingDevice, 2, 0, func(*device) int32 { return 0 }), afterInit},
	"cuDeviceGetTexture1DLinearMaxWidth": {query(existingDevice, 3, 0, (*device).textureWidth), afterInit},
}

// deviceAt returns the device whose ordinal is argument i, or nil.
func deviceAt(c call, i int) *device {
	n := int(c.Int32(i))
	if n < 0 || n >= len(c.e.devices) {
		return nil
	}
	return c.e.devices[n]
}

// existingDevice is like deviceAt, but returns CUDA_ERROR_INVALID_DEVICE if there is no such
// device.
func existingDevice(c call, i int) (*device, result) {
	if d := deviceAt(c, i); d != nil {
		return d, success
	}
	return nil, errInvalidDevice
}

func cuDeviceGet(c call) result {
	if c.Ptr(0) == nil {
		return errInvalidValue
	}
	d := deviceAt(c, 1)
	if d == nil {
		return errInvalidDevice
	}
	return put(c, 0, cu.CUdevice(d.ordinal))
}

func cuDeviceGetCount(c call) result { return put(c, 0, int32(len(c.e.devices))) }

func cuDeviceGetName(c call) result {
	d := deviceAt(c, 2)
	if d == nil {
		return errInvalidDevice
	}
	return putText(c, 0, int(c.Int32(1)), c.e.cfg.Name)
}

// putText writes s and a NUL to the buffer that argument i points to. The buffer has room bytes.
// putText truncates s if necessary.
func putText(c call, i, room int, s string) result {
	dst := list[byte](c, i, room)
	if dst == nil {
		return errInvalidValue
	}
	n := copy(dst[:len(dst)-1], s)
	dst[n] = 0
	return success
}

// uuid returns the device's UUID. The text in it identifies the emulator, and the last bytes
// identify the device.
func (d *device) uuid() [16]byte {
	var u [16]byte
	copy(u[:], "purecuda-emu")
	u[14], u[15] = byte(d.ordinal>>8), byte(d.ordinal)
	return u
}

func cuDeviceGetAttribute(c call) result {
	if c.Ptr(0) == nil {
		return errInvalidValue
	}
	d := deviceAt(c, 2)
	if d == nil {
		return errInvalidDevice
	}
	v, ok := d.attrs[cu.CUdevice_attribute(c.Uint32(1))]
	if !ok {
		return errInvalidValue
	}
	return put(c, 0, v)
}

func cuDeviceGetProperties(c call) result {
	p, d := at[cu.CUdevprop](c, 0), deviceAt(c, 1)
	switch {
	case p == nil:
		return errInvalidValue
	case d == nil:
		return errInvalidDevice
	}
	*p = cu.CUdevprop{
		MaxThreadsPerBlock:  d.attr(cu.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
		SharedMemPerBlock:   d.attr(cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
		TotalConstantMemory: d.attr(cu.CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
		SIMDWidth:           d.attr(cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE),
		MemPitch:            d.attr(cu.CU_DEVICE_ATTRIBUTE_MAX_PITCH),
		RegsPerBlock:        d.attr(cu.CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
		ClockRate:           d.attr(cu.CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
		TextureAlign:        d.attr(cu.CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
	}
	for i := range 3 {
		p.MaxThreadsDim[i] = d.attr(cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + cu.CUdevice_attribute(i))
		p.MaxGridSize[i] = d.attr(cu.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + cu.CUdevice_attribute(i))
	}
	return success
}

func (d *device) attr(a cu.CUdevice_attribute) int32 { return d.attrs[a] }

func cuDeviceComputeCapability(c call) result {
	d := deviceAt(c, 2)
	if d == nil {
		return errInvalidDevice
	}
	if c.Ptr(0) == nil || c.Ptr(1) == nil {
		return errInvalidValue
	}
	*at[int32](c, 0) = int32(c.e.cfg.ComputeCapability[0])
	*at[int32](c, 1) = int32(c.e.cfg.ComputeCapability[1])
	return success
}

// busID returns a PCI address. Each device has its own bus.
func (d *device) busID() string {
	const digits = "0123456789ABCDEF"
	bus := d.ordinal + 1
	return "0000:" + string([]byte{digits[bus>>4&15], digits[bus&15]}) + ":00.0"
}

func cuDeviceGetPCIBusID(c call) result {
	d := deviceAt(c, 2)
	if d == nil {
		return errInvalidDevice
	}
	return putText(c, 0, int(c.Int32(1)), d.busID())
}

func cuDeviceGetByPCIBusID(c call) result {
	id, ok := c.text(1)
	if !ok || c.Ptr(0) == nil {
		return errInvalidValue
	}
	for _, d := range c.e.devices {
		full := d.busID()
		if id == full || id == full[:len(full)-2] || id == full[len("0000:"):] {
			return put(c, 0, cu.CUdevice(d.ordinal))
		}
	}
	if strings.Count(id, ":") == 0 {
		return errInvalidValue
	}
	return errInvalidDevice
}

func (d *device) textureWidth() uintptr {
	return uintptr(d.attr(cu.CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH))
}

func sizeOf[T any]() uintptr {
	var v T
	return unsafe.Sizeof(v)
}

var moreDeviceFunctions = functions{
	"cuDeviceGetHostAtomicCapabilities":   {cuDeviceGetHostAtomicCapabilities, afterInit},
	"cuDeviceGetP2PAtomicCapabilities":    {cuDeviceGetP2PAtomicCapabilities, afterInit},
	"cuDeviceRegisterAsyncNotification":   {cuDeviceRegisterAsyncNotification, afterInit},
	"cuDeviceUnregisterAsyncNotification": {cuDeviceUnregisterAsyncNotification, afterInit},
	"cuFlushGPUDirectRDMAWrites":          {cuFlushGPUDirectRDMAWrites, current},
}

// cuDeviceGetHostAtomicCapabilities returns no capabilities, as for a device on PCI Express.
func cuDeviceGetHostAtomicCapabilities(c call) result {
	caps := list[uint32](c, 0, int(c.Uint32(2)))
	switch {
	case deviceAt(c, 3) == nil:
		return errInvalidDevice
	case caps == nil || c.Ptr(1) == nil:
		return errInvalidValue
	}
	clear(caps)
	return success
}

const allAtomics = cu.CU_ATOMIC_CAPABILITY_SIGNED | cu.CU_ATOMIC_CAPABILITY_UNSIGNED |
	cu.CU_ATOMIC_CAPABILITY_REDUCTION | cu.CU_ATOMIC_CAPABILITY_SCALAR_32 | cu.CU_ATOMIC_CAPABILITY_SCALAR_64

// cuDeviceGetP2PAtomicCapabilities returns all capabilities for every pair of devices.
func cuDeviceGetP2PAtomicCapabilities(c call) result {
	caps := list[uint32](c, 0, int(c.Uint32(2)))
	a, b := deviceAt(c, 3), deviceAt(c, 4)
	switch {
	case a == nil || b == nil || a == b:
		return errInvalidDevice
	case caps == nil || c.Ptr(1) == nil:
		return errInvalidValue
	}
	for i := range caps {
		caps[i] = uint32(allAtomics)
	}
	return success
}

// notification is a registered callback for events of a device. Such events never occur in the
// emulator.
type notification struct {
	handle uintptr
	dev    *device
}

func cuDeviceRegisterAsyncNotification(c call) result {
	d := deviceAt(c, 0)
	switch {
	case d == nil:
		return errInvalidDevice
	case c.Word(1) == 0 || c.Ptr(3) == nil:
		return errInvalidValue
	}
	n := &notification{dev: d}
	n.handle = c.e.register(n)
	return put(c, 3, n.handle)
}

func cuDeviceUnregisterAsyncNotification(c call) result {
	d, n := deviceAt(c, 0), handleAt[notification](c, 1)
	switch {
	case d == nil:
		return errInvalidDevice
	case n == nil || n.dev != d:
		return errInvalidValue
	}
	c.e.forget(n.handle)
	return success
}

// cuFlushGPUDirectRDMAWrites has nothing to flush, because no other hardware writes to device
// memory.
func cuFlushGPUDirectRDMAWrites(c call) result {
	scope := cu.CUflushGPUDirectRDMAWritesScope(c.Uint32(1))
	if cu.CUflushGPUDirectRDMAWritesTarget(c.Uint32(0)) != cu.CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
		scope != cu.CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER && scope != cu.CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES {
		return errInvalidValue
	}
	return success
}

var peerFunctions = functions{
	"cuDeviceCanAccessPeer":   {cuDeviceCanAccessPeer, afterInit},
	"cuDeviceGetP2PAttribute": {cuDeviceGetP2PAttribute, afterInit},
	"cuCtxEnablePeerAccess":   {cuCtxEnablePeerAccess, current},
	"cuCtxDisablePeerAccess":  {cuCtxDisablePeerAccess, current},
}

// peerMask returns a mask of the devices whose memory the context's kernels may access as peers.
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

// deviceMask returns a mask of the devices on which a node runs or whose memory it accesses.
func (e *Emulator) deviceMask(p nodeParams) (mask uint64) {
	with := func(d *device) { mask |= 1 << d.ordinal }
	switch n := p.(type) {
	case *kernelNode:
		with(n.fn.mod.ctx.dev)
	case *fillNode:
		with(n.ctx.dev)
	case *copyNode:
		with(n.ctx.dev)
		for _, at := range []*transfer.Side{&n.dst, &n.src} {
			if r, ok := e.mem.Find(at.Addr); ok && r.Device != vm.HostDevice {
				with(e.deviceOf(r))
			}
		}
	}
	return mask
}

// nodeElsewhere returns the first node, in the graph and its nested graphs, that uses a device
// other than home. It returns nil if there is none.
func (e *Emulator) nodeElsewhere(g *graph, home *device) *node {
	for _, n := range g.nodes {
		if e.deviceMask(n.params)&^(1<<home.ordinal) != 0 {
			return n
		}
		inner, ok := n.params.(nested)
		if !ok {
			continue
		}
		for _, g := range inner.graphs() {
			if bad := e.nodeElsewhere(g, home); bad != nil {
				return bad
			}
		}
	}
	return nil
}

// manyDevices rejects conditional bodies that use a device other than the one of their condition,
// as driver 580 does.
func (e *Emulator) manyDevices(g *graph) *refusal {
	for _, n := range g.nodes {
		inner, ok := n.params.(nested)
		if !ok {
			continue
		}
		cond, isCond := inner.(*conditionalNode)
		for _, body := range inner.graphs() {
			if isCond && e.nodeElsewhere(body, cond.cond.ctx.dev) != nil {
				return &refusal{result: errInvalidValue, reason: cu.CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED}
			}
			if bad := e.manyDevices(body); bad != nil {
				return bad
			}
		}
	}
	return nil
}

// oneDevice rejects a graph for device launch if it uses several devices.
func (e *Emulator) oneDevice(g *graph) *refusal {
	var first uint64
	for _, n := range g.nodes {
		mask := e.deviceMask(n.params)
		if first == 0 {
			first = mask
		}
		if mask != 0 && mask != first {
			return &refusal{errInvalidValue, cu.CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED, n}
		}
	}
	return nil
}
