# Reads a source for the names of parameters, then its PTX, which it prints
# with them, without comments, for the lowest version and target.

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
/^[ \t]*$/ { next }
$1 == ".version" { print ".version " version; next }
$1 == ".target" { print ".target " target; next }

$1 == ".visible" && $2 == ".entry" {
	print ""
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
}

# A parameter where it is declared, and where it is read.
kernel != "" && match($0, kernel "_param_[0-9]+") {
	number = substr($0, RSTART + length(kernel) + 7, RLENGTH - length(kernel) - 7) + 1
	name = names[number]
	if (name == "") {
		print "build: no name for parameter " number " of " kernel > "/dev/stderr"
		exit 1
	}
	before = substr($0, 1, RSTART - 1)
	after = substr($0, RSTART + RLENGTH)
	if ($1 == ".param") {
		if (name ~ /\*$/) before = before ".ptr .global .align 1 "
		if (name ~ /:b$/) sub(/\.[usf]/, ".b", before)
	}
	sub(/[*:].*/, "", name)
	$0 = before name after
}

{ print }
