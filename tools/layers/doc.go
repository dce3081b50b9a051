// Package layers tests which packages of the module may import which packages. Tests of a
// package may import more than the package itself.
//
//	go test -C tools -count=1 ./layers
//
// Without -count=1 the go command may reuse an earlier result, because it cannot detect that the
// test reads another module.
package layers
