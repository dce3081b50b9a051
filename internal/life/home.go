package life

import (
	"slices"
	"sync"

	"github.com/purecuda/cuda/driver/cu"
)

// Home is what the objects of one driver context share.
type Home struct {
	Guarded    *cu.Driver // calls that destroy objects: bound to the context and guarded
	Background *Background
	Owner      any // for leak reports: whose objects they are

	mu      sync.Mutex
	cleanup []error
}

// maxCleanupErrors limits how many errors a context keeps. When a device is lost, every destruction
// fails.
const maxCleanupErrors = 64

// Note keeps an error that no call can return.
func (h *Home) Note(err error) { h.note(err) }

func (h *Home) note(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.cleanup) == maxCleanupErrors {
		h.cleanup = append(h.cleanup[:0], h.cleanup[1:]...)
	}
	h.cleanup = append(h.cleanup, err)
}

// Errors returns the latest of these errors.
func (h *Home) Errors() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.cleanup)
}
