// Package robust has the tests that build and run the programs of this module.
package robust
