package life

import (
	"slices"
	"sync"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/kernelfault"
)

// Home contains the state that the objects of one driver context share.
type Home struct {
	Guarded    *cu.Driver // driver for destroying objects: bound to the context and guarded
	Background *Background
	Owner      any // owner of the objects, for leak reports
	Faults     *kernelfault.State

	mu      sync.Mutex
	cleanup []error
}

// maxCleanupErrors limits how many errors a context stores, because after the loss of a device
// every destruction fails.
const maxCleanupErrors = 64

// Note stores an error that no call can return. A context stores the latest maxCleanupErrors of
// them.
func (h *Home) Note(err error) { h.note(err) }

func (h *Home) note(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.cleanup) == maxCleanupErrors {
		h.cleanup = append(h.cleanup[:0], h.cleanup[1:]...)
	}
	h.cleanup = append(h.cleanup, err)
}

// Errors returns the latest errors that Note stored.
func (h *Home) Errors() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.cleanup)
}
