package gen

import "github.com/purecuda/cuda/ptx/internal/launcher"

// Forms selects the optional parts of a launcher.
type Forms struct{ Grid, Do, Prepare bool }

func (p *printer) kernel(k *kernel, forms Forms) {
	l := k.launcher()
	if forms.Do {
		p.Launcher(l, k.name, k.doc)
	} else {
		p.Plain(l, k.name, k.doc)
	}
	p.launcherOf(k, l, forms)
	if forms.Grid {
		p.Grid(l)
	}
	p.Op(l)
	if forms.Do {
		p.Do(l)
	}
	if forms.Prepare {
		p.Prepare(l)
	}
	p.asserts(k)
}

// launcher describes the kernel's launcher.
func (k *kernel) launcher() *launcher.Kernel {
	l := &launcher.Kernel{Type: k.goName, Block: k.block, Cluster: k.sig.ReqCluster}
	for _, q := range k.params {
		l.Params = append(l.Params, launcher.Param{Arg: q.arg, Field: q.field, Type: q.typ, Memory: q.memory,
			Access: accesses[q.mode], Remark: q.remark()})
	}
	return l
}

var accesses = map[mode]launcher.Access{modeIn: launcher.In, modeOut: launcher.Out, modeInOut: launcher.InOut}

func (p *printer) launcherOf(k *kernel, l *launcher.Kernel, forms Forms) {
	p.F("func %s(kernel *driver.Kernel, err error) (%s, error) {\n", k.of(), k.goName)
	if !forms.Do {
		p.F("return %s{kernel}, err\n}\n\n", k.goName)
		return
	}
	p.F("if err != nil {\nreturn %s{}, err\n}\n", k.goName)
	p.F("calls, err := driver.NewCalls(kernel%s)\nreturn %s{calls}, err\n}\n\n", l.Modes(), k.goName)
}

func (q *param) remark() string {
	if q.name == q.Param.Name {
		return ptxType(q.Param)
	}
	return q.Param.Name + ", " + ptxType(q.Param)
}

// asserts writes compile-time checks for the package's own types that are passed by value. Each
// type must have the size of its parameter.
func (p *printer) asserts(k *kernel) {
	for _, q := range k.params {
		if q.sized {
			p.F("// %s of %s has %d bytes.\nvar _ [%d]byte = [unsafe.Sizeof(*new(%s))]byte{}\n\n", q.arg, k.name, q.Size, q.Size, q.typ)
		}
	}
}

func (k *kernel) asserts() bool {
	for _, q := range k.params {
		if q.sized {
			return true
		}
	}
	return false
}
