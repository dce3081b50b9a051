// Package calltest holds tests of the way into C and back: a stand-in for the
// driver's library, compiled from testdata/driver.c for the platform, is opened
// as the driver is. They are built with the tag calltest and run by make
// test-calls on Linux, and on Windows under Wine, as is the program in
// testdata/waits.
package calltest
