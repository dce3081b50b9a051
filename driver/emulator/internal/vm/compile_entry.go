package vm

import "github.com/purecuda/cuda/ptx"

// entry compiles a kernel. A kernel that is only declared must be defined somewhere, unless it is
// .extern.
func (c *compiler) entry(s *source, f *ptx.Function) {
	if f.Body != nil {
		c.kernel(s, f)
		return
	}
	if sym := c.lookup(s, f.Name); f.Linkage != ptx.Extern && (sym == nil || sym.fn == nil || sym.fn.Body == nil) {
		c.fail(s, f.Pos, CompileUnresolved, "kernel %s is not defined", f.Name)
	}
}
