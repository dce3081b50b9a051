package graph

// WaitParked waits until what closed execs left to goroutines is done.
func WaitParked() { parked.Wait() }
