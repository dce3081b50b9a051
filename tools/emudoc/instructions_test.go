package main

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/ptxtest"
)

func TestEveryFormIsInTheDocument(t *testing.T) {
	ps, err := patterns()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(instructions(ps)), "\\|", "|")
	for _, p := range ps {
		if !strings.Contains(text, p.Text) {
			t.Errorf("instructions.txt:%d is not there", p.Line)
		}
	}
	if forms, executed := sizes(ps, "integer arithmetic"); forms < 100 || executed != forms {
		t.Errorf("%d of %d forms of integer arithmetic", executed, forms)
	}
	if _, executed := sizes(ps, "textures and surfaces"); executed != 0 {
		t.Errorf("%d forms about textures", executed)
	}
}

func TestAFormThatIsNoneIsNotDocumented(t *testing.T) {
	ps := ptxtest.Instructions()
	wrong := ps[0]
	wrong.Text = "add.nothing %r1, %r2;"
	err := withDriver(func(d *driver.Driver) error {
		_, err := ask(d, wrong)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "add.nothing") {
		t.Errorf("got %v", err)
	}
}
