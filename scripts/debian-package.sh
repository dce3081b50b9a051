#!/usr/bin/env bash
# Downloads files of Debian packages through the mirror that this system's apt uses,
# for any suite and component of it. apt checks their signatures; nothing is installed.
#
# usage: scripts/debian-package.sh FOLDER SUITE COMPONENT PACKAGE...
#
# A file of the same package that is in FOLDER already, of any suite, is removed.
# SUITE may be '', for those of this system's sources. Prints the path of each file, a
# line for each package, in their order. FOLDER/apt keeps the lists of packages of
# each suite and component; they are fetched anew when they no longer serve.
set -euo pipefail
shopt -s inherit_errexit
[ $# -ge 4 ] || { echo "usage: debian-package.sh FOLDER SUITE COMPONENT PACKAGE..." >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
suite=$2 component=$3
shift 3

sources=/etc/apt/sources.list.d/debian.sources
[ -r "$sources" ] || { echo "debian-package.sh: there is no $sources: this script knows the apt of Debian 12 and later" >&2; exit 1; }

apt=$folder/apt/${suite:-own}-$component
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/parts"
# The first stanza is the main archive.
awk 'BEGIN { RS = "" } NR == 1' "$sources" |
	sed "${suite:+s|^Suites:.*|Suites: $suite|; }s|^Components:.*|Components: $component|" >"$apt/parts/debian.sources"
options=(-qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt/parts" -o "Dir::State::Lists=$apt/lists"
	-o "Dir::Cache::Archives=$apt/archives" -o APT::Sandbox::User=root
	# What is installed here would be taken for newer than an older suite's.
	-o Dir::State::Status=/dev/null)

update() {
	# Without this mode a mirror that does not answer is a warning.
	apt-get "${options[@]}" -o APT::Update::Error-Mode=any update >&2
	touch "$apt/.complete"
}

get() { # get PACKAGE
	rm -f "$1"_*.deb
	apt-get "${options[@]}" download "$1" >&2
}

[ -e "$apt/.complete" ] || update
cd "$folder"
for package; do
	# A mirror has dropped what old lists name.
	if ! get "$package"; then
		update
		get "$package"
	fi
	files=("$package"_*.deb)
	[ -e "${files[0]}" ] || { echo "debian-package.sh: apt-get left no file of $package" >&2; exit 1; }
	echo "$folder/${files[0]}"
done
