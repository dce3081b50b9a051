# Reads a CUDA C++ source for the names of parameters, and then its PTX. Prints the PTX with these
# names, for the lowest version and target, and without comments except those that ptx2go reads.
#
# A line "//: PATTERN NAME..." in the source names the parameters of the kernels that the pattern
# matches, because nvcc does not keep names. NAME* is a pointer, <NAME one that is read, >NAME one that
# is written, and <>NAME both. NAME:b has untyped bits.

FNR == NR {
	if ($1 == "//:") {
		patterns[++families] = "^" $2 "$"
		lists[families] = $0
		sub(/^\/\/: +[^ ]+ +/, "", lists[families])
	}
	next
}

FNR == 1 { print "// Made from " from " by src/build.sh; do not edit.\n" }

{ sub(/[ \t]*\/\/.*/, "") }
{ gsub(/_INTERNAL_[0-9a-f]+_/, "_INTERNAL_") } # a number of the compiler's run
/^[ \t]*$/ { next }
$1 == ".version" { print ".version " version; next }
$1 == ".target" { print ".target " target; next }

$1 == ".visible" && $2 == ".entry" {
	kernel = $3
	sub(/\(.*/, "", kernel)
	count = 0
	for (i = 1; i <= families; i++)
		if (kernel ~ patterns[i])
			count = split(lists[i], names, " ")
	if (count == 0) {
		print "build: no line //: for " kernel > "/dev/stderr"
		exit 1
	}
	print ""
	described = ""
	for (i = 1; i <= count; i++) describe(i)
	if (described != "") print "// ptx2go: " described
}

# describe takes a name apart: what is done to the memory, whether the parameter
# is a pointer or bits, and its Go type.
function describe(i,    word, mode, type) {
	word = names[i]
	mode = ""
	if (match(word, /^[<>]+/)) {
		mode = substr(word, 1, RLENGTH)
		word = substr(word, RLENGTH + 1)
	}
	pointer[i] = word ~ /\*/
	bits[i] = word ~ /:b/
	names[i] = word
	sub(/[*:].*/, "", names[i])
	type = word
	sub(/^[^*:]*(\*|:b|:)?/, "", type)
	if (type == "" && mode == "") return
	if (described != "") described = described ", "
	described = described (mode == "<" ? "in " : mode == ">" ? "out " : mode == "<>" ? "inout " : "") names[i]
	if (type != "") described = described " " goType(type)
}

# goType is a Go type; $2 is that of the second part of the kernel's name.
function goType(type,    parts) {
	if (substr(type, 1, 1) != "$") return type
	split(kernel, parts, "_")
	type = parts[substr(type, 2)]
	if (type == "f16" || type == "bf16") return toupper(type)
	sub(/^f/, "float", type)
	sub(/^i/, "int", type)
	sub(/^[ub]/, "uint", type)
	return type
}

# A parameter where it is declared, and where it is read.
kernel != "" && match($0, kernel "_param_[0-9]+") {
	number = substr($0, RSTART + length(kernel) + 7, RLENGTH - length(kernel) - 7) + 1
	name = names[number]
	if (number > count) {
		print "build: no name for parameter " number " of " kernel > "/dev/stderr"
		exit 1
	}
	before = substr($0, 1, RSTART - 1)
	after = substr($0, RSTART + RLENGTH)
	if ($1 == ".param") {
		if (pointer[number]) before = before ".ptr .global .align 1 "
		if (bits[number]) sub(/\.[usf]/, ".b", before)
	}
	$0 = before name after
}

{ print }
