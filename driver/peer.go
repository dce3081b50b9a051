package driver

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver/cu"
)

// CanAccessPeer reports whether the device can access the memory of peer directly.
func (dev Device) CanAccessPeer(peer Device) (bool, error) {
	if err := dev.check(); err != nil {
		return false, err
	}
	if err := peer.check(); err != nil {
		return false, err
	}
	if err := dev.sameDriver(peer); err != nil {
		return false, err
	}
	var can int32
	err := dev.driver.CuDeviceCanAccessPeer(&can, dev.raw, peer.raw)
	return can != 0, dev.named(err)
}

// PeerAttribute returns an attribute of the link from the device to peer.
func (dev Device) PeerAttribute(a cu.CUdevice_P2PAttribute, peer Device) (int, error) {
	if err := dev.check(); err != nil {
		return 0, err
	}
	if err := peer.check(); err != nil {
		return 0, err
	}
	if err := dev.sameDriver(peer); err != nil {
		return 0, err
	}
	var v int32
	err := dev.driver.CuDeviceGetP2PAttribute(&v, a, dev.raw, peer.raw)
	return int(v), dev.named(err)
}

// EnablePeerAccess lets the context's kernels and copies access the memory of peer, but not the
// other way round. Enabling it twice is not an error.
func (c *Context) EnablePeerAccess(peer *Context) error {
	return c.peer(peer, "enable", cu.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, func(d *cu.Driver) error {
		return d.CuCtxEnablePeerAccess(peer.core.raw, 0)
	})
}

// DisablePeerAccess undoes EnablePeerAccess. It does nothing if access was not enabled.
func (c *Context) DisablePeerAccess(peer *Context) error {
	return c.peer(peer, "disable", cu.CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, func(d *cu.Driver) error {
		return d.CuCtxDisablePeerAccess(peer.core.raw)
	})
}

// peer makes a call and treats the result already as success.
func (c *Context) peer(peer *Context, verb string, already CUresult, call func(*cu.Driver) error) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := peer.check(); err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	if err := c.sameDriver(peer, peer); err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	err := call(&c.core.bound.Driver)
	runtime.KeepAlive(peer)
	runtime.KeepAlive(c)
	if err == nil || isResult(err, already) {
		return nil
	}
	return fmt.Errorf("cannot %s access of %v to %v: %w", verb, c.Device(), peer.Device(), err)
}
