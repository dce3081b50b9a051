// Package calltest tests calls into C and callbacks from C. It opens a stand-in for the
// driver library, compiled from testdata/driver.c for the platform, in the same way as
// the driver. The tests are built with the tag calltest. make test-calls runs them, on
// Linux directly and for Windows under Wine, and also the program in testdata/waits.
package calltest
