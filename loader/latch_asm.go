//go:build amd64 && !race

package loader

import "sync/atomic"

// storeRelease sets *held to 0 after all earlier stores. The atomic package has only sequentially
// consistent stores, which wait until other processors have observed them.
//
//go:noescape
func storeRelease(held *atomic.Uint32)
