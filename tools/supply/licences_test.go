package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestLicencesAreKnownByTheirWords(t *testing.T) {
	const bsd = "Redistribution and use in source and\nbinary forms, with or without modification"
	for text, want := range map[string]string{
		"   Apache License\n  Version 2.0, January 2004": "Apache-2.0",
		bsd:                              "BSD-2-Clause",
		bsd + "\n * Neither the name of": "BSD-3-Clause",
		"Permission is hereby granted, free of charge, to any person":      "MIT",
		"Permission to use, copy, modify, and/or distribute this software": "ISC",
		"Mozilla Public License Version 2.0":                               "MPL-2.0",
		"GNU LESSER GENERAL PUBLIC LICENSE":                                "",
		"GNU General Public License, or the Apache License Version 2.0":    "",
		"All rights reserved.":                                             "",
	} {
		if got := identify([]byte(text)); got != want {
			t.Errorf("%q is taken for %q, want %q", text, got, want)
		}
	}
}

func TestALicenceIsLookedForInTheModule(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"LICENSE.md": "Apache License Version 2.0", "NOTICE": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d, err := licensed(module{Path: "example.com/m", Version: "v1.0.0", Dir: dir}, "programs")
	if err != nil || d.licence != "Apache-2.0" || !d.notice {
		t.Errorf("%+v, %v", d, err)
	}
	if row := table([]dependency{d}); !strings.HasSuffix(row, "| v1.0.0 | Apache-2.0 | yes | programs |\n") {
		t.Errorf("row %q", row)
	}
	if _, err := licensed(module{Path: "example.com/m"}, ""); err == nil {
		t.Error("a module that is not there has a licence")
	}
}

func TestABillOfAProgramNamesWhatIsInIt(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := run([]string{"sbom", program}, out); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != second.String() {
		t.Error("the same program has two bills")
	}
	var bill spdx
	if err := json.Unmarshal(first.Bytes(), &bill); err != nil {
		t.Fatal(err)
	}
	std := strings.TrimPrefix(strings.Fields(runtime.Version())[0], "go")
	if bill.Creation.Created != "1970-01-02T00:00:00Z" || len(bill.Packages) < 2 || bill.Packages[1].Version != std {
		t.Errorf("bill %s", &first)
	}
}

func TestTheTimeOfABillIsANumber(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if err := run([]string{"sbom"}, new(bytes.Buffer)); err == nil {
		t.Error("no error")
	}
}

func TestUnknownCommandsAreErrors(t *testing.T) {
	for _, args := range [][]string{nil, {"what"}, {"api", "-what"}} {
		if err := run(args, new(bytes.Buffer)); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
