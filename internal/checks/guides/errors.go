package guides

import (
	"errors"
	"fmt"
	"io"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// advice is how a program can react to an error.
type advice int

const (
	goOn advice = iota
	giveUp
	tryLess
	useAnotherWay
	endTheProcess
)

// [act]

// act selects the reaction to an error. The code may be anywhere in the chain of wrapped errors.
func act(err error) advice {
	switch {
	case err == nil:
		return goOn
	case errors.Is(err, driver.ErrContextLost): // check this first: every later call fails with it
		return endTheProcess
	case errors.Is(err, driver.ErrNotSupported): // the driver is too old, or the device lacks the feature
		return useAnotherWay
	case errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY): // device or page-locked memory
		return tryLess
	}
	return giveUp
}

// [end]

// [lost]

// healthy is a service's health check. If the last error means that the context is lost, the
// process must end. After any other error, it queries the driver.
func healthy(ctx *driver.Context, last error) error {
	if errors.Is(last, driver.ErrContextLost) {
		return last
	}
	return ctx.Lost() // queries the driver and does not wait
}

// [end]

// [as]

// describe prints the parts of an error.
func describe(err error) string {
	var e *driver.Error
	if !errors.As(err, &e) {
		return "detected before the driver was called: " + err.Error()
	}
	switch {
	case e.Missing:
		return fmt.Sprintf("the driver has no %v, which CUDA %d.%d introduced", e.Func, e.Func.Since()/1000, e.Func.Since()%1000/10)
	case e.Log != "":
		return fmt.Sprintf("%v returned %s, with this log of the compiler:\n%s", e.Func, e.Result.String(), e.Log)
	}
	return fmt.Sprintf("%v returned %s (%d): %s", e.Func, e.Result.String(), uint32(e.Result), e.Hint)
}

// [end]

// [load]

// load adds the name of the code to an error. %v then prints one line, and %+v the
// compiler's whole log.
func load(ctx *driver.Context, name string, ptx []byte) (*driver.Module, error) {
	m, err := ctx.LoadModule(ptx)
	if err != nil {
		return nil, driver.Named(name, err) // fmt.Errorf would hide the log from %+v
	}
	return m, nil
}

// [end]

// [update]

// refresh updates exec to match g. If CUDA cannot apply the update, refresh returns a new
// executable graph. An impossible update is reported in the result, not as an error.
func refresh(w io.Writer, exec *graph.Exec, g *graph.Graph) (*graph.Exec, error) {
	answer, err := exec.Update(g)
	if err != nil || answer.Updated() {
		return exec, err
	}
	fmt.Fprintln(w, "instantiated again:", answer) // the reason and the node
	fresh, err := g.Instantiate()
	var refused *graph.InstantiateError
	if errors.As(err, &refused) {
		return exec, fmt.Errorf("at node %v: %w", refused.Node, err)
	}
	if err != nil {
		return exec, err
	}
	return fresh, exec.Close()
}

// [end]

// [available]

// openOrSay opens the installed driver, or prints one line that explains why there is none.
func openOrSay() (*driver.Driver, error) {
	if err := driver.Available(); err != nil {
		return nil, fmt.Errorf("this program needs a GPU: %w", err)
	}
	return driver.Open()
}

// [end]
