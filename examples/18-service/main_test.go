package main

import (
	"bufio"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/examples/internal/demotest"
	"github.com/purecuda/cuda/internal/gputest"
)

// asProgram is the environment variable that makes the test binary run the program. Tests
// use it to check the exit status.
const asProgram = "PURECUDA_SERVICE_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

func TestExample(t *testing.T) {
	demotest.Run(t, run, "200 clients sent 1000 requests: all scores are right")
}

// process is the service running in its own process.
type process struct {
	*exec.Cmd
	log  *bufio.Scanner
	seen []string
}

func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], append([]string{"-listen", "127.0.0.1:0"}, args...)...)}
	p.Env = append(os.Environ(), asProgram+"=1")
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // fails only if the process has ended
	p.log = bufio.NewScanner(stderr)
	return p
}

// address returns the address in the program's log.
func (p *process) address(t *testing.T) string {
	t.Helper()
	for p.log.Scan() {
		p.seen = append(p.seen, p.log.Text())
		var line struct{ Msg, Address string }
		if json.Unmarshal(p.log.Bytes(), &line) == nil && line.Msg == "serving" {
			return "http://" + line.Address
		}
	}
	t.Fatalf("it does not serve: %s", strings.Join(p.seen, "\n"))
	return ""
}

// end waits until the process ends, and returns its exit status and its log.
func (p *process) end() (code int, log string) {
	kill := time.AfterFunc(time.Minute, func() { _ = p.Process.Kill() })
	defer kill.Stop()
	for p.log.Scan() {
		p.seen = append(p.seen, p.log.Text())
	}
	_ = p.Wait() // the exit status reports the error
	return p.ProcessState.ExitCode(), strings.Join(p.seen, "\n")
}

func TestLostGPUEndsTheProcess(t *testing.T) {
	t.Run("emulator", func(t *testing.T) { losesItsGPU(t, "emulator") })
	t.Run("gpu", func(t *testing.T) {
		gputest.GPU(t)
		losesItsGPU(t, "gpu")
	})
}

func losesItsGPU(t *testing.T, device string) {
	p := startProcess(t, "-device", device, "-lose-after", "50ms")
	health := p.address(t) + "/healthz"
	for range 200 { // poll, as an orchestrator's health probe does
		r, err := http.Get(health)
		if err != nil {
			break // the process has ended
		}
		r.Body.Close()
		time.Sleep(10 * time.Millisecond)
	}
	code, log := p.end()
	if code != 1 {
		t.Errorf("it ends with %d", code)
	}
	for _, want := range []string{"losing the GPU", "shutting down", "CUDA_ERROR_ILLEGAL_ADDRESS"} {
		if !strings.Contains(log, want) {
			t.Errorf("it does not say %q:\n%s", want, log)
		}
	}
}
