package main

// barriers is how the compiler treats barriers in divergent code.
const barriers = ""
