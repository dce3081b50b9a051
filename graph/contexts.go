package graph

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

func sameDriver(c *driver.Context, what any, of *driver.Context) error {
	return refusal.OtherDriver(c, what, of)
}

func sameContext(c *driver.Context, what any, of *driver.Context) error {
	return refusal.OtherContext(c, what, of)
}
