//go:build !amd64 || race

package loader

import "sync/atomic"

func storeRelease(held *atomic.Uint32) { held.Store(0) }
