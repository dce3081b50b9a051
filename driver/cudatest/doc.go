// Package cudatest provides a CUDA device for tests: an emulated device by default, or a real
// device if the environment requires one. If a test leaves an object open, or drops it without
// closing it, the test fails and prints the stack of the object's creation. On the emulator, every
// finding of package emulator's checks also fails the test. The message names the line in the
// program that enqueued the work. See [WithChecks].
//
//	func TestStep(t *testing.T) {
//		c := cudatest.Device(t)
//		…
//		before := cudatest.CountsOf(c.Driver())
//		err := step.Launch(stream)
//		if n := cudatest.CountsOf(c.Driver()).Since(before); n.GraphLaunches != 1 || n.Copies() != 0 {
//			t.Errorf("got %v, want 1 graph launch and no copies", n)
//		}
//	}
//
// With PURECUDA_REQUIRE_GPU=1, the same test runs on the system's driver. If there is no GPU, the
// test fails, so it cannot pass by being skipped. Each test logs the device on which it ran.
//
// Only tests should import this package, because it links the emulator.
package cudatest
