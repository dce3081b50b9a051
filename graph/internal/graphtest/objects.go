package graphtest

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

// Beside returns a kit for a second context on the same device.
func (k *Kit) Beside() *Kit {
	k.Helper()
	c, err := k.C.Device().NewContext(0)
	k.OK(err)
	k.CloseLater(c)
	return NewKit(k.TB, c)
}

func (k *Kit) Event() *driver.Event {
	k.Helper()
	e, err := k.C.NewEvent()
	k.OK(err)
	k.CloseLater(e)
	return e
}

// Destructor counts destructions.
type Destructor struct{ N atomic.Int32 }

func (d *Destructor) Destroy() { d.N.Add(1) }

// Expect waits until the number of destructions is want, and then slightly longer to detect an extra
// one.
func (d *Destructor) Expect(k *Kit, want int32) {
	k.Helper()
	for end := time.Now().Add(10 * time.Second); d.N.Load() < want && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(5 * time.Millisecond)
	if n := d.N.Load(); n != want {
		k.Errorf("%d destructions, want %d", n, want)
	}
}

func (k *Kit) User(destroy func()) *driver.UserObject {
	k.Helper()
	u, err := k.C.NewUserObject(destroy)
	k.OK(err)
	k.CloseLater(u)
	return u
}

// Most checks that f allocates at most n objects, and AllocsAllowed more.
func (k *Kit) Most(n float64, what string, f func()) {
	k.Helper()
	most := n + AllocsAllowed
	if RaceDetector {
		most = math.Inf(1)
	}
	if allocs := gputest.Allocs(most, 200, f); allocs > most {
		k.Errorf("%s: %v allocations, want %v at most", what, allocs, most)
	}
}
