// Package language has the table of what kernels can use of Go. The rows are the nodes of the syntax
// tree, the tokens, the predeclared names, the types, the operators and conversions by type, and the
// forms of statements and expressions. For each of them, a kernel of package kernels uses it, or the
// compiler refuses code with it, at a place and with an advice.
//
// Tests run the kernels, compile the code that is refused, and compare the rows with Go. A generator
// makes a part of the language reference from them.
package language
