package vm

import "github.com/purecuda/cuda/ptx"

// entry compiles a kernel. One that is declared only has to be defined somewhere,
// unless it is .extern and nobody asks for it.
func (c *compiler) entry(s *source, f *ptx.Function) {
	if f.Body != nil {
		c.kernel(s, f)
		return
	}
	if sym := c.lookup(s, f.Name); f.Linkage != ptx.Extern && (sym == nil || sym.fn == nil || sym.fn.Body == nil) {
		c.fail(s, f.Pos, CompileUnresolved, "kernel %s is not defined", f.Name)
	}
}
