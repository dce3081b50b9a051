package vm

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

// The functions that PTX may call without a definition: vprintf, malloc, free and __assertfail.

// builtin is a function that the engine provides. args holds the bytes of the arguments, and the
// function writes its result to ret.
type builtin func(w *warp, in *inst, lane int, args, ret []byte)

var builtins = map[string]builtin{
	"vprintf":      builtinPrintf,
	"malloc":       builtinMalloc,
	"free":         builtinFree,
	"__assertfail": builtinAssert,
}

// extern returns the Extern or the builtin that implements an undefined function. If there is none,
// both results are nil.
func (c *compiler) extern(name string) (Extern, builtin) {
	if e := c.opts.Externs[name]; e != nil {
		return e, nil
	}
	return nil, builtins[name]
}

// Provided reports whether the engine implements the named function.
func Provided(name string) bool { return builtins[name] != nil }

// Heap is the device-side heap used by malloc and free. A driver keeps one for each context. An
// allocation lives until it is freed or the heap is released.
type Heap struct {
	mu    sync.Mutex
	mem   *Memory
	dev   int
	limit uint64
	used  uint64
	live  map[uint64]uint64 // sizes of live allocations, by address
}

// NewHeap creates a heap of at most limit bytes on a device.
func NewHeap(mem *Memory, device int, limit uint64) *Heap {
	return &Heap{mem: mem, dev: device, limit: limit, live: map[uint64]uint64{}}
}

// Malloc allocates size bytes. It returns 0 if the heap has too little space left.
func (h *Heap) Malloc(size uint64) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := (max(size, 1) + 15) &^ 15
	if n < size || h.used+n > h.limit {
		return 0
	}
	addr, err := h.mem.Alloc(size, AllocOptions{Device: h.dev, Kind: RegionHeap, Tag: "malloc in a kernel"})
	if err != nil {
		return 0
	}
	h.used += n
	h.live[addr] = n
	return addr
}

// Free frees memory that Malloc allocated. It returns false if addr is not such an allocation.
func (h *Heap) Free(addr uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, ok := h.live[addr]
	if !ok {
		return false
	}
	delete(h.live, addr)
	h.used -= n
	_, err := h.mem.Free(addr, "free in a kernel")
	return err == nil
}

// Release frees all allocations in the heap.
func (h *Heap) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for a := range h.live {
		h.mem.Free(a, "release of the heap")
	}
	clear(h.live)
	h.used = 0
}

// heapOf returns the heap in the launch options. If there is none, it returns the launch's own
// heap.
func (r *launchRun) heapOf() *Heap {
	if r.opts.Heap != nil {
		return r.opts.Heap
	}
	r.heapOnce.Do(func() {
		limit := r.opts.HeapLimit
		if limit == 0 {
			limit = defaultHeap
		}
		r.ownHeap = NewHeap(r.mem, r.opts.Device.Ordinal, limit)
	})
	return r.ownHeap
}

func builtinMalloc(w *warp, in *inst, lane int, args, ret []byte) {
	var size uint64
	switch {
	case len(args) >= 8:
		size = binary.LittleEndian.Uint64(args)
	case len(args) >= 4:
		size = uint64(binary.LittleEndian.Uint32(args))
	}
	binary.LittleEndian.PutUint64(ret, w.cta.run.heapOf().Malloc(size))
}

func builtinFree(w *warp, in *inst, lane int, args, ret []byte) {
	addr := binary.LittleEndian.Uint64(args)
	if addr != 0 && !w.cta.run.heapOf().Free(addr) {
		panic(w.laneFault(FaultTrap, in, lane, fmt.Sprintf("free of %#x, which malloc did not return or which was freed", addr)))
	}
}

func builtinAssert(w *warp, in *inst, lane int, args, ret []byte) {
	text := func(i int) string { return w.cString(in, binary.LittleEndian.Uint64(args[i*8:]), lane) }
	line := binary.LittleEndian.Uint32(args[16:])
	msg := fmt.Sprintf("%s:%d: %s: block: [%d,%d,%d], thread: [%d,%d,%d] Assertion `%s` failed.", text(1), line, w.cString(in, binary.LittleEndian.Uint64(args[24:]), lane),
		w.cta.id.X, w.cta.id.Y, w.cta.id.Z, w.tid[0][lane], w.tid[1][lane], w.tid[2][lane], text(0))
	w.cta.run.print([]byte(msg + "\n"))
	panic(w.laneFault(FaultAssert, in, lane, msg))
}

// print writes the output of one call without interleaving it with other output.
func (r *launchRun) print(b []byte) {
	if r.opts.Stdout == nil {
		return
	}
	r.outMu.Lock()
	defer r.outMu.Unlock()
	r.opts.Stdout.Write(b)
}

// bytesAt returns the n bytes at a generic address. It panics with a fault if the lane may not read
// all of them.
func (w *warp) bytesAt(in *inst, addr uint64, n int, lane int) []byte {
	probe := inst{aux: spaceGeneric}
	var out []byte
	for i := range n {
		e := access{region: deadRegion}
		p := w.reach(&probe, &e, addr+uint64(i), lane)
		out = append(out, *(*byte)(p))
	}
	return out
}

// cString returns the string at a generic address. The string ends at a NUL byte or after 64 KiB.
// At address 0, it is empty.
func (w *warp) cString(in *inst, addr uint64, lane int) string {
	var out []byte
	for addr != 0 && len(out) < 1<<16 {
		c := w.bytesAt(in, addr, 1, lane)[0]
		if c == 0 {
			break
		}
		out = append(out, c)
		addr++
	}
	return string(out)
}

// builtinPrintf is vprintf(format, arguments). The argument buffer holds the arguments in order,
// each at its own alignment. vprintf returns the number of arguments, or -1 for a null format.
func builtinPrintf(w *warp, in *inst, lane int, args, ret []byte) {
	format := binary.LittleEndian.Uint64(args)
	buf := binary.LittleEndian.Uint64(args[8:])
	if format == 0 {
		binary.LittleEndian.PutUint32(ret, ^uint32(0))
		return
	}
	run := w.cta.run
	run.outMu.Lock()
	defer run.outMu.Unlock()
	p := printer{w: w, in: in, lane: lane, buf: buf}
	p.format(w.cString(in, format, lane))
	p.flush()
	if len(ret) >= 4 {
		binary.LittleEndian.PutUint32(ret, uint32(p.n))
	}
}

// printer formats the arguments of one call by one lane. It writes output in pieces of at most
// printPiece bytes, because a single field may be 2 GiB wide.
type printer struct {
	w    *warp
	in   *inst
	lane int
	buf  uint64
	off  uint64
	n    int
	out  []byte
	full bool // the writer has failed, or there is none
}

const (
	printPiece = 64 << 10
	// mostWidth is the maximum width and precision. A conversion with a larger width or precision
	// prints nothing.
	mostWidth = 1 << 31
)

func (p *printer) print(text string) {
	for len(text) > 0 && !p.full {
		n := min(len(text), printPiece-len(p.out))
		p.out = append(p.out, text[:n]...)
		if text = text[n:]; len(p.out) == printPiece {
			p.flush()
		}
	}
}

func (p *printer) repeat(c byte, n int64) {
	var piece string
	for n > 0 && !p.full {
		if piece == "" {
			piece = strings.Repeat(string(c), int(min(n, printPiece)))
		}
		m := min(n, int64(len(piece)))
		p.print(piece[:m])
		n -= m
	}
}

// flush writes the buffered output. If the launch has been told to end, flush ends the kernel.
func (p *printer) flush() {
	run := p.w.cta.run
	if len(p.out) > 0 && run.opts.Stdout != nil {
		if _, err := run.opts.Stdout.Write(p.out); err != nil {
			p.full = true
		}
	} else {
		p.full = p.full || run.opts.Stdout == nil
	}
	p.out = p.out[:0]
	if kind := run.ended(); kind != FaultNone {
		panic(p.w.endFault(kind))
	}
}

func (p *printer) arg(size int) uint64 {
	p.off = (p.off + uint64(size) - 1) &^ (uint64(size) - 1)
	b := p.w.bytesAt(p.in, p.buf+p.off, size, p.lane)
	p.off += uint64(size)
	p.n++
	if size == 4 {
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func (p *printer) format(f string) {
	for i := 0; i < len(f); i++ {
		plain := strings.IndexByte(f[i:], '%')
		if plain < 0 {
			p.print(f[i:])
			return
		}
		p.print(f[i : i+plain])
		i += plain
		s := spec{}
		j := p.parse(f, i+1, &s)
		if j >= len(f) {
			p.print(f[i:])
			return
		}
		if !p.convert(f[j], s) {
			p.print(f[i : j+1])
		}
		i = j
	}
}

type spec struct {
	minus, plus, space, sharp, zero bool
	width, prec                     int64 // an int may have 32 bits
	hasPrec                         bool
	long                            bool // the argument has 64 bits
	short                           int  // 1 for h, 2 for hh
	nothing                         bool // the conversion is too wide to print
}

// parse reads the flags, width and precision of a conversion at f[i:]. It returns the index of the
// conversion's letter.
func (p *printer) parse(f string, i int, s *spec) int {
	for ; i < len(f); i++ {
		switch f[i] {
		case '-':
			s.minus = true
		case '+':
			s.plus = true
		case ' ':
			s.space = true
		case '#':
			s.sharp = true
		case '0':
			s.zero = true
		default:
			goto width
		}
	}
width:
	i, s.width = p.number(f, i)
	if s.width < 0 { // a negative width sets the flag
		s.minus, s.width = true, -s.width
	}
	if i < len(f) && f[i] == '.' {
		i, s.prec = p.number(f, i+1)
		s.hasPrec = s.prec >= 0 // C ignores a negative precision
	}
	for ; i < len(f); i++ {
		switch f[i] {
		case 'l', 'j', 'z', 't', 'L': // the host's long has 64 bits
			s.long = true
		case 'h':
			s.short++
		default:
			return i
		}
	}
	return i
}

// number reads a width or precision. Either may be an argument, written as *.
func (p *printer) number(f string, i int) (int, int64) {
	if i < len(f) && f[i] == '*' {
		return i + 1, int64(int32(p.arg(4)))
	}
	n := int64(0)
	for ; i < len(f) && f[i] >= '0' && f[i] <= '9'; i++ {
		n = min(n*10+int64(f[i]-'0'), mostWidth+1)
	}
	return i, n
}

// convert prints the conversion c. It returns false if c is unknown.
func (p *printer) convert(c byte, s spec) bool {
	if s.width > mostWidth || s.prec > mostWidth {
		s.nothing = true
	}
	switch c {
	case '%':
		p.print("%")
	case 'd', 'i':
		x := int64(int32(p.integer(&s)))
		if s.long {
			x = int64(p.last(&s))
		}
		switch s.short {
		case 1:
			x = int64(int16(x))
		case 2:
			x = int64(int8(x))
		}
		s.digits(p, s.sign(x < 0), strconv.FormatUint(magnitude(x), 10))
	case 'u', 'x', 'X', 'o':
		x := p.integer(&s)
		if s.long {
			x = p.last(&s)
		}
		switch s.short {
		case 1:
			x = uint64(uint16(x))
		case 2:
			x = uint64(uint8(x))
		}
		s.unsigned(p, c, x)
	case 'c':
		s.text(p, string([]byte{byte(p.arg(4))}))
	case 's':
		t := p.w.cString(p.in, p.arg(8), p.lane)
		if s.hasPrec && s.prec < int64(len(t)) {
			t = t[:s.prec]
		}
		s.text(p, t)
	case 'p':
		s.text(p, "0x"+strconv.FormatUint(p.arg(8), 16))
	case 'f', 'F', 'e', 'E', 'g', 'G', 'a', 'A':
		s.float(p, c, math.Float64frombits(p.arg(8)))
	default:
		return false
	}
	return true
}

// integer reads a 32-bit argument. If s.long is set, integer reads nothing, and the caller must
// read the argument with last.
func (p *printer) integer(s *spec) uint64 {
	if s.long {
		return 0
	}
	return p.arg(4)
}

func (p *printer) last(*spec) uint64 { return p.arg(8) }

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func (s *spec) sign(neg bool) string {
	switch {
	case neg:
		return "-"
	case s.plus:
		return "+"
	case s.space:
		return " "
	}
	return ""
}

// printed is the output of one conversion. The zeros are counted rather than stored, because there
// may be many.
type printed struct {
	prefix string
	zeros  int64
	text   string
	tail   int64  // number of zeros after text
	end    string // text after the tail zeros
}

func (s *spec) put(p *printer, f printed) {
	if s.nothing {
		return
	}
	n := max(0, s.width-f.zeros-f.tail-int64(len(f.prefix)+len(f.text)+len(f.end)))
	if !s.minus && !s.zero {
		p.repeat(' ', n)
	}
	p.print(f.prefix)
	if !s.minus && s.zero {
		p.repeat('0', n)
	}
	p.repeat('0', f.zeros)
	p.print(f.text)
	p.repeat('0', f.tail)
	p.print(f.end)
	if s.minus {
		p.repeat(' ', n)
	}
}

// digits prints an integer with leading zeros up to the precision.
func (s *spec) digits(p *printer, prefix, digits string) {
	f := printed{prefix: prefix, text: digits}
	if s.hasPrec {
		s.zero = false
		if s.prec == 0 && digits == "0" {
			f.text = ""
		}
		f.zeros = max(0, s.prec-int64(len(digits)))
	}
	s.put(p, f)
}

func (s *spec) text(p *printer, t string) {
	s.zero = false
	s.put(p, printed{text: t})
}

func (s *spec) unsigned(p *printer, c byte, x uint64) {
	base, prefix := 10, ""
	switch c {
	case 'x', 'X':
		base = 16
		if s.sharp && x != 0 {
			prefix = "0" + string(c)
		}
	case 'o':
		base = 8
		if s.sharp && x != 0 {
			prefix = "0"
		}
	}
	digits := strconv.FormatUint(x, base)
	if c == 'X' {
		digits = strings.ToUpper(digits)
	}
	s.digits(p, prefix, digits)
}

// exactDigits is a precision that represents every float64 exactly. All digits beyond it are zeros.
const exactDigits = 1100

func (s *spec) float(p *printer, c byte, x float64) {
	f := printed{prefix: s.sign(math.Signbit(x))}
	x = math.Abs(x)
	upper := c < 'a'
	if upper {
		c += 'a' - 'A'
	}
	prec := int64(6)
	if s.hasPrec {
		prec = s.prec
	}
	f.tail = max(0, prec-exactDigits)
	prec -= f.tail
	switch {
	case math.IsInf(x, 0):
		s.zero, f.text, f.tail = false, "inf", 0
	case x != x:
		s.zero, f.text, f.tail = false, "nan", 0
	case c == 'a':
		if !s.hasPrec {
			prec = -1
		}
		f.text = hexFloat(x, int(prec))
	default:
		verb := "%"
		if s.sharp {
			verb += "#"
		}
		if c == 'g' {
			prec = max(prec, 1)
			if !s.sharp {
				f.tail = 0 // this conversion drops trailing zeros
			}
		}
		f.text = fmt.Sprintf(verb+"."+strconv.FormatInt(prec, 10)+string(c), x)
	}
	if i := strings.LastIndexAny(f.text, "ep"); f.tail > 0 && i > 0 && c != 'f' {
		f.text, f.end = f.text[:i], f.text[i:]
	}
	if upper {
		f.text, f.end = strings.ToUpper(f.text), strings.ToUpper(f.end)
	}
	s.put(p, f)
}

func hexFloat(x float64, prec int) string {
	t := strconv.FormatFloat(x, 'x', prec, 64)
	// Go writes at least two exponent digits, C at least one.
	if i := strings.IndexByte(t, 'p'); i >= 0 && len(t) == i+4 && t[i+2] == '0' {
		t = t[:i+2] + t[i+3:]
	}
	return t
}
