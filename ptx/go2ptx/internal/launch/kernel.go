package launch

import (
	"fmt"
	"strings"

	"github.com/purecuda/cuda/ptx/internal/launcher"
)

func (p *printer) kernel(g *generator, k *Kernel) {
	l := k.launcher()
	p.in(k, l)
	name := k.Obj.Name()
	if k.Name != name {
		name += ", in PTX " + k.Name
	}
	doc := strings.TrimSpace(k.Decl.Doc.Text())
	if g.opts.Traps != nil && g.opts.Traps(k.Name) {
		doc = strings.TrimPrefix(doc+"\n\nA failed check traps, which ends the context.", "\n\n")
	}
	p.Launcher(l, name, doc)
	p.Grid(l)
	p.Op(l)
	p.Do(l)
	p.Prepare(l)
}

// in emits the function that returns the launcher.
func (p *printer) in(k *Kernel, l *launcher.Kernel) {
	name := k.GoName
	p.F("// %sIn returns the launcher of kernel %s in a context, which loads the code on first use.\n", name, k.Obj.Name())
	p.F("func %sIn(c *driver.Context) (%s, error) {\n", name, name)
	p.F("calls, err := gpuCalls(c, %q%s)\n", k.Name, l.Modes())
	var alone []string
	for i, q := range k.params {
		if q.restrict {
			alone = append(alone, fmt.Sprint(i))
		}
	}
	if alone != nil {
		p.F("if err != nil {\nreturn %s{}, err\n}\n", name)
		p.F("err = calls.Kernel().Restrict(%s)\n", strings.Join(alone, ", "))
	}
	p.F("return %s{calls}, err\n}\n\n", name)
}

// defaultBlock is the block size if the directive does not specify one.
const defaultBlock = 256

// launcher describes the kernel's launcher.
func (k *Kernel) launcher() *launcher.Kernel {
	d := k.Directives
	l := &launcher.Kernel{Type: k.GoName, Block: d.Block, Cluster: d.Cluster, Shared: d.Shared}
	if l.Block == [3]int{} {
		l.Block[0] = defaultBlock
		if d.MaxBlock > 0 {
			l.Block[0] = min(defaultBlock, d.MaxBlock)
		}
	}
	for _, q := range k.params {
		l.Params = append(l.Params, q.Param)
	}
	return l
}
