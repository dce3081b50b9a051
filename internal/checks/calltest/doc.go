// Package calltest tests calls into C and callbacks from C. Its tests open a stand-in for the
// driver library, compiled from testdata/driver.c, with the code that opens the driver. The tests
// require the build tag calltest. make test-calls runs them and the program in testdata/waits, on
// Linux directly and for Windows under Wine.
package calltest
