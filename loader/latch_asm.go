//go:build amd64 && !race

package loader

import "sync/atomic"

// storeRelease sets *held to 0 after everything that was stored before. The
// atomic package has sequentially consistent stores only, which wait until
// other processors have seen them.
//
//go:noescape
func storeRelease(held *atomic.Uint32)
