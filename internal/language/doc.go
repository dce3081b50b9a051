// Package language contains a table of the parts of Go that kernels can or cannot use. The rows are
// the nodes of the syntax tree, the tokens, the predeclared names, the types, the operators and
// conversions by type, and the forms of statements and expressions. For each row, there is either a
// kernel in package kernels that uses the feature, or code for which the compiler reports an error
// with a position and advice.
//
// The tests run the kernels, compile the invalid code, and compare the rows with Go. A generator
// uses the table for a part of the language reference.
package language
