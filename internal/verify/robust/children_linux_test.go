package robust

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

// Starting programs while the device works must affect neither. The new processes must not inherit
// any open file of the driver.
func TestChildProcessesBesideWork(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		p := newProgram(t, d)
		defer p.closeAll(driver.CUDA_SUCCESS)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.replayUntil(ctx) }()
		for range 20 {
			out, err := exec.Command("ls", "-l", "/proc/self/fd").CombinedOutput()
			ok(t, err)
			if strings.Contains(string(out), "nvidia") {
				t.Fatalf("a child process has files of the driver:\n%s", out)
			}
		}
		stop()
		ok(t, <-done)
		works(t, p.c)
	})
}

func (p *program) replayUntil(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := p.x.Run(context.Background(), p.s); err != nil {
			return err
		}
	}
	return nil
}
