// Package cudatest gives tests a CUDA device: an emulated one on every machine, and a real one
// if the environment requires it. An object that a test leaves open, or drops without closing
// it, fails the test with the stack of its creation. On the emulator, every mistake found by the
// checks of package emulator also fails the test, with the line of the program that submitted
// the work; see [WithChecks].
//
//	func TestStep(t *testing.T) {
//		c := cudatest.Device(t)
//		…
//		before := cudatest.CountsOf(c.Driver())
//		err := step.Launch(stream)
//		if n := cudatest.CountsOf(c.Driver()).Since(before); n.GraphLaunches != 1 || n.Copies() != 0 {
//			t.Errorf("a step is %v", n)
//		}
//	}
//
// With PURECUDA_REQUIRE_GPU=1 the same test runs on the system's driver and fails if there is
// none, so no test passes by being skipped. A test logs which device it ran on.
//
// Only tests should import this package, because it links the emulator.
package cudatest
