// Package layers tests which packages of the module may import which, with and
// without their tests.
//
//	go test -C tools -count=1 ./layers
//
// Without -count=1 the go command may reuse an earlier result: it does not know that
// the test reads the packages of another module.
package layers
