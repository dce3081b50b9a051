package language

const head = "package p\n\nimport \"github.com/purecuda/cuda/ptx/gpu\"\n\n"

// RefusedFiles lists directives, signatures and whole files that the compiler rejects. A line of
// dashes separates two files.
var RefusedFiles = files(
	Refusal{Code: head + "/**/1\n\n//gpu:kernel\nfunc k(t gpu.Thread) {}\n"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread) { n := /**/) }\n"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread) { /**/else {} }\n"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread) { n := 1 /**/$ 2 }\n"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread) { n := /**/undeclared }\n"},
	Refusal{Code: "/**/0"},
	Refusal{Code: "/**/package _", Error: "the file has no package name"},
	Refusal{Code: "/**///go:build ignore\n\npackage p\n", Error: "package p has no Go files for kernels"},
	Refusal{Code: "/**///go:build (\n\npackage p\n"},
	Refusal{Code: "package p\n---\npackage /**/q\n", Error: "the folder contains package p and package q"},
	Refusal{Code: head + "import /**/\"C\"\n\n//gpu:kernel\nfunc k(t gpu.Thread) { C.f() }\n", Error: "a kernel cannot use cgo"},
	Refusal{Code: head + "import /**/\"example.org/none\"\n\n//gpu:kernel\nfunc k(t gpu.Thread) { none.F() }\n", Error: "import \"example.org/none\": package example.org/none is not built in, and no source is available"},
	Refusal{Code: head + "import \"fmt\"\n\n//gpu:kernel\nfunc k(t gpu.Thread) { /**/fmt.Println() }\n", Error: "fmt.Println is not available in kernels: use gpu.Printf"},

	Refusal{Code: head + "type T int\n\n//gpu:kernel\nfunc (x T) /**/k(t gpu.Thread) {}\n", Error: "a kernel is a function with a name of its own, not a method"},
	Refusal{Code: head + "//gpu:kernel\nfunc /**/k() {}\n", Error: "the first parameter of kernel k must be a gpu.Thread"},
	Refusal{Code: head + "//gpu:kernel\nfunc /**/k(n int) {}\n", Error: "the first parameter of kernel k must be a gpu.Thread"},
	Refusal{Code: head + "//gpu:kernel\nfunc /**/k(t gpu.Thread) int { return 1 }\n", Error: "kernel k has results; a kernel can only write to memory"},
	Refusal{Code: head + "//gpu:kernel\nfunc /**/k(t gpu.Thread, x ...int) {}\n", Error: "kernel k is variadic; use a slice"},
	Refusal{Code: head + "//gpu:kernel\nfunc /**/k(t gpu.Thread)\n", Error: "kernel k has no body"},
	Refusal{Code: head + "//gpu:kernel\nfunc /**/größe(t gpu.Thread) {}\n", Error: "größe cannot be a name in PTX; give one that can: //gpu:kernel name=step"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread, /**/u gpu.Thread) {}\n", Error: "parameter u of kernel k: only the first parameter is a gpu.Thread"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread, /**/s string) {}\n", Error: "parameter s of kernel k: a parameter cannot be a string; use []byte"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread, /**/s [][]int) {}\n", Error: "parameter s of kernel k: the elements of a slice cannot be a slice: host memory means nothing to the device; use one slice with the index y*width+x, or gpu.View"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread, /**/s struct{ p *int }) {}\n", Error: "parameter s of kernel k: field p cannot be a pointer: host memory means nothing to the device; use gpu.View"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread, x []int32, /**/a [50000]int32) { x[0] = a[x[1]] }\n", Error: "kernel k has at least 200024 bytes of parameters; no target allows more than 32764: pass a slice or a pointer"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread, /**/m map[int]int) {}\n", Error: "parameter m of kernel k: a parameter cannot have type map[int]int; host and device exchange numbers, arrays and structs"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread, /**/c chan int) {}\n", Error: "parameter c of kernel k: a parameter cannot have type chan int; host and device exchange numbers, arrays and structs"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread, /**/f func()) {}\n", Error: "parameter f of kernel k: a parameter cannot have type func(); host and device exchange numbers, arrays and structs"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread, /**/x any) {}\n", Error: "parameter x of kernel k: a parameter cannot have type any; host and device exchange numbers, arrays and structs"},
	Refusal{Code: head + "type point struct{ X int }\n\n//gpu:kernel name=a\nfunc k(t gpu.Thread) {}\n\n//gpu:kernel name=a\nfunc /**/l(t gpu.Thread) {}\n", Error: "kernel a has the same name in PTX as that at p.go:8:6; give one name="},
	Refusal{Code: head + "func K() {}\n\n//gpu:kernel\nfunc /**/k(t gpu.Thread) {}\n", Error: "the launcher of kernel k needs the name K, which the package declares; give another one: //gpu:kernel launcher=KKernel"},
	Refusal{Code: head + "//gpu:kernel launcher=A\nfunc k(t gpu.Thread) {}\n\n//gpu:kernel launcher=A\nfunc /**/l(t gpu.Thread) {}\n", Error: "the launcher of kernel l needs the name A, which another launcher uses; give another one: //gpu:kernel launcher=AKernel"},

	Refusal{Code: head + "func HitsIn() {}\n\nvar /**/hits gpu.Global[int32]\n\n//gpu:kernel\nfunc k(t gpu.Thread) { hits.Store(1) }\n", Error: "the host finds the variable hits with a function HitsIn, which the package declares; rename the variable"},
	Refusal{Code: head + "//gpu:kernel\n/**///gpu:kernel\nfunc k(t gpu.Thread) {}\n", Error: "the function has two //gpu:kernel directives; write one with all options"},
	Refusal{Code: head + "/**///gpu:intrinsic\n//gpu:kernel\nfunc k(t gpu.Thread) {}\n", Error: "only packages of the library declare intrinsics"},
	Refusal{Code: head + "/**///gpu:fast\nfunc f() {}\n", Error: "unknown directive //gpu:fast; there are kernel, instance, nobounds and noinline"},
	Refusal{Code: head + "/**///gpu:kernel\n\nvar x int\n", Error: "the directive is not directly above a function"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread, n int) {\n\t/**///gpu:unroll 4\n\tn++\n}\n", Error: "//gpu:unroll is not directly above a loop"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread, n int) {\n\t/**///gpu:unroll all\n\tfor range n {\n\t}\n}\n", Error: "//gpu:unroll n: write a number from 0 to 128; 0 and 1 mean that the loop is not unrolled"},
	Refusal{Code: head + "//gpu:nobounds /**/all\nfunc f() {}\n", Error: "//gpu:nobounds has no options"},
	Refusal{Code: head + "//gpu:kernel trap /**/trap\nfunc k(t gpu.Thread) {}\n", Error: "the option trap is given twice"},
	Refusal{Code: head + "/**/// gpu:nobounds\n//gpu:kernel\nfunc k(t gpu.Thread) {}\n", Error: "a directive has no space after the slashes: write //gpu:nobounds"},
	Refusal{Code: head + "//gpu:kernel /**/trap=1\nfunc k(t gpu.Thread) {}\n", Error: "trap has no value"},
	Refusal{Code: head + "//gpu:kernel /**/fma=on\nfunc k(t gpu.Thread) {}\n", Error: "write fma=off; fusing is on by default"},
	Refusal{Code: head + "//gpu:kernel /**/name=1\nfunc k(t gpu.Thread) {}\n", Error: "name=1: a name in PTX consists of letters, digits, _ and $, and begins with a letter"},
	Refusal{Code: head + "//gpu:kernel /**/launcher=1\nfunc k(t gpu.Thread) {}\n", Error: "launcher=1: write a Go name"},
	Refusal{Code: head + "//gpu:kernel /**/speed=1\nfunc k(t gpu.Thread) {}\n", Error: "unknown option \"speed\"; there are block, maxblock, cluster, minblocks, regs, shared, restrict, trap, fma, name and launcher"},
	Refusal{Code: head + "//gpu:kernel /**/block=1x1x1x1\nfunc k(t gpu.Thread) {}\n", Error: "block=1x1x1x1: at most three sizes"},
	Refusal{Code: head + "//gpu:kernel /**/block=64x64\nfunc k(t gpu.Thread) {}\n", Error: "block=64x64 is 4096 in all, but at most 1024 are possible"},
	Refusal{Code: head + "//gpu:kernel /**/block=1x1x128\nfunc k(t gpu.Thread) {}\n", Error: "block=1x1x128: the third size is at most 64"},
	Refusal{Code: head + "//gpu:kernel /**/block=0\nfunc k(t gpu.Thread) {}\n", Error: "block=0: write a number from 1 to 1024"},
	Refusal{Code: head + "/**///gpu:kernel block=64 maxblock=64\nfunc k(t gpu.Thread) {}\n", Error: "block fixes the size, so maxblock is superfluous; write one"},
	Refusal{Code: head + "/**///gpu:kernel restrict=n\nfunc k(t gpu.Thread, n int) {}\n", Error: "restrict=n: kernel k has no slice or pointer of this name"},
	Refusal{Code: head + "/**///gpu:kernel restrict=v\nfunc k(t gpu.Thread, v struct{ m gpu.View2D[int] }) {}\n", Error: "restrict=v: a launch cannot check a view in a struct or a View2D; pass its elements as a slice"},
	Refusal{Code: head + "//gpu:kernel\nfunc k(t gpu.Thread) { _ = /**/gpu.Run }\n", Error: "gpu.Run is for the host, not for kernels"},
	Refusal{Code: head + "var gpuPTX int\n\n//gpu:kernel\nfunc /**/k(t gpu.Thread) {}\n", Error: "the launchers need the name gpuPTX, which the package declares: rename that"},
	Refusal{Code: head + "//gpu:instance /**/int\nfunc f() {}\n", Error: "//gpu:instance needs //gpu:kernel in the same comment"},
	Refusal{Code: head + "//gpu:kernel\n//gpu:instance/**/\nfunc k[T any](t gpu.Thread) {}\n", Error: "//gpu:instance needs types: //gpu:instance float32 num.F16"},
	Refusal{Code: head + "//gpu:kernel\n//gpu:instance /**/](\nfunc k[T any](t gpu.Thread) {}\n"},
	Refusal{Code: head + "//gpu:kernel\n//gpu:instance /**/int\nfunc k(t gpu.Thread) {}\n", Error: "kernel k has no type parameters"},
	Refusal{Code: head + "//gpu:kernel\nfunc /**/k[T any](t gpu.Thread) {}\n", Error: "kernel k is generic; list its instances: //gpu:instance float32 int32"},
	Refusal{Code: head + "//gpu:kernel\n//gpu:instance /**/int,int\nfunc k[T any](t gpu.Thread) {}\n", Error: "int,int: kernel k has 1 type parameters"},
	Refusal{Code: head + "//gpu:kernel\n//gpu:instance /**/none\nfunc k[T any](t gpu.Thread) {}\n"},
	Refusal{Code: head + "//gpu:kernel\n//gpu:instance /**/1\nfunc k[T any](t gpu.Thread) {}\n", Error: "1 is not a type"},
	Refusal{Code: head + "//gpu:kernel\n//gpu:instance /**/string\nfunc k[T ~int](t gpu.Thread) {}\n"},
)

func files(list ...Refusal) []Refusal {
	for i := range list {
		list[i].whole = true
	}
	return list
}
