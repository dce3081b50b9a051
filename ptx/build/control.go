package build

// If adds a branch. The threads for which cond is true execute the code that the function then
// adds.
func (f *Func) If(cond Value[bool], then func()) { f.IfElse(cond, then, nil) }

// IfElse adds two branches. The threads for which cond is true execute the code that the function
// then adds. The other threads execute the code that the function els adds.
func (f *Func) IfElse(cond Value[bool], then, els func()) {
	if !f.ready() || then == nil {
		return
	}
	end := f.NewLabel("endif")
	if els == nil {
		f.Unless(cond.Reg()).Bra(end)
		then()
		f.Place(end)
		return
	}
	other := f.NewLabel("else")
	f.Unless(cond.Reg()).Bra(other)
	then()
	f.Bra(end)
	f.Place(other)
	els()
	f.Place(end)
}

// While adds a loop. It evaluates cond before each iteration.
func (f *Func) While(cond func() Value[bool], body func()) {
	if !f.ready() || cond == nil || body == nil {
		return
	}
	head, end := f.NewLabel("while"), f.NewLabel("endwhile")
	f.Place(head)
	f.Unless(cond().Reg()).Bra(end)
	body()
	f.Bra(head)
	f.Place(end)
}

// For adds a loop in which i starts at first and increases by step while i < limit. Body may change
// i with [Value.Set].
func For[T Number](f *Func, first, limit, step Value[T], body func(i Value[T])) {
	if !f.ready() || body == nil {
		return
	}
	i := Mutable(first)
	f.While(func() Value[bool] { return i.Lt(limit) }, func() {
		body(i)
		f.Op(rounded[T]("add")+"."+kindOf[T]().name, i, i, step)
	})
}

// GlobalX returns the index of the thread in the grid, %ctaid.x * %ntid.x + %tid.x. The result is
// exact up to 2^32 - 1.
func (f *Func) GlobalX() Value[uint32] {
	return ReadSpecial(f, CtaidX).MulAdd(ReadSpecial(f, NtidX), ReadSpecial(f, TidX))
}

// GridStrideX returns the number of threads of the grid in the x dimension.
func (f *Func) GridStrideX() Value[uint32] {
	return ReadSpecial(f, NctaidX).Mul(ReadSpecial(f, NtidX))
}

// Barrier adds a barrier that waits for all threads of the block.
func (f *Func) Barrier() { f.Op("bar.sync", Int(0)) }
