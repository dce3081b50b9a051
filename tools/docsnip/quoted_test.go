package main

import (
	"strings"
	"testing"
)

func TestQuotationsStandWhereTheyComeFrom(t *testing.T) {
	root := repository(t, map[string]string{
		"docs/r.md": "| call | C | Go | to C |\n|---|--:|--:|--:|\n| launch | 10 | 11 | 1.1 |\n| copy | 20 | 20 |  |\n\n" +
			"| call | C | C | kept |\n|---|---|---|---|\n| launch | 5 | 6 | yes |\n\n```\nall: PASS\n```\n",
	})
	const head = "<!-- quoted: docs/r.md -->\n\n"
	const none = `docs/r.md has no table with the heads`
	for text, want := range map[string]string{
		head + "| call | C | to C |\n|---|--:|--:|\n| launch | 10 | 1.1 |\nafter\n":          "",
		head + "| call | to C | C |\n|---|--:|--:|\n| copy |  | 20 |\n| launch | 1.1 | 10 |": "",
		head + "| call | kept |\n|---|---|\n| launch | yes |\n":                              "",
		head + "```\nall: PASS\n```\n":                                                       "",

		head + "| call | C |\n|---|--:|\n| launch | 12 |\n":                 `docs/r.md does not say ["launch" "12"] below ["call" "C"]`,
		head + "| call | C |\n|---|--:|\n| graph | 10 |\n":                  `docs/r.md does not say ["graph" "10"]`,
		head + "| call | C |\n|---|--:|\n| launch | 10 |\n| copy | 10 |\n":  `docs/r.md does not say ["copy" "10"]`,
		head + "| call | C | Go |\n|---|--:|--:|\n| launch | 11 | 10 |\n":   `docs/r.md does not say ["launch" "11" "10"]`,
		head + "| call | Go | C |\n|---|--:|--:|\n| launch | 10 | 11 |\n":   `docs/r.md does not say ["launch" "10" "11"]`,
		head + "| call | C | Go |\n|---|--:|--:|\n| launch | 10 | 10 |\n":   `docs/r.md does not say`,
		head + "| call | C | Go |\n|---|--:|--:|\n| launch | 10 |\n":        `docs/r.md does not say`,
		head + "| call | C | Go |\n|---|--:|--:|\n| launch | 10 | 11 | 1 |": `docs/r.md does not say`,
		head + "| call | C | ours |\n|---|--:|--:|\n| launch | 10 | 11 |\n": none,
		head + "| call | C | C |\n|---|--:|--:|\n| launch | 10 | 10 |\n":    none,
		head + "| call | C | kept |\n|---|---|---|\n| launch | 5 | yes |\n": none,
		head + "| call | C |\n|---|--:|\n":                                  "d.md:1: no table and no block",
		head + "```\nall: FAIL\n```\n":                                      `docs/r.md does not say "all: FAIL"`,
		head + "```\n```\n":                                                 "has no line",
		head + "text\n":                                                     "d.md:1: no table and no block",
		"<!-- quoted: docs/none.md -->\n":                                   "docs/none.md",
	} {
		errs := quoted(root, "d.md", text)
		if want == "" && len(errs) > 0 || want != "" && (len(errs) == 0 || !strings.Contains(errs[0].Error(), want)) {
			t.Errorf("%q: %v, want %q", text, errs, want)
		}
	}
}
