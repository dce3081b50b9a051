package trace

// Declaration is the table that gen.go writes.
var Declaration = declaration
