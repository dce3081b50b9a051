package vm

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// builtinPrintf is vprintf(format, arguments): the arguments lie one after
// the other at their own alignment. It returns their number.
func builtinPrintf(w *warp, in *inst, lane int, args, ret []byte) {
	format := binary.LittleEndian.Uint64(args)
	buf := binary.LittleEndian.Uint64(args[8:])
	if format == 0 {
		binary.LittleEndian.PutUint32(ret, ^uint32(0))
		return
	}
	p := printer{w: w, in: in, lane: lane, buf: buf}
	text := p.format(w.cString(in, format, lane))
	w.cta.run.print([]byte(text))
	if len(ret) >= 4 {
		binary.LittleEndian.PutUint32(ret, uint32(p.n))
	}
}

// printer formats the arguments of one call by one lane.
type printer struct {
	w    *warp
	in   *inst
	lane int
	buf  uint64
	off  uint64
	n    int
}

// arg reads the next argument, of 4 or 8 bytes.
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

// format is C's printf.
func (p *printer) format(f string) string {
	var out strings.Builder
	for i := 0; i < len(f); i++ {
		if f[i] != '%' {
			out.WriteByte(f[i])
			continue
		}
		s := spec{}
		j := p.parse(f, i+1, &s)
		if j >= len(f) {
			out.WriteString(f[i:])
			break
		}
		if text, ok := p.convert(f[j], s); ok {
			out.WriteString(text)
		} else {
			out.WriteString(f[i : j+1])
		}
		i = j
	}
	return out.String()
}

// spec is a conversion's flags, width and precision.
type spec struct {
	minus, plus, space, sharp, zero bool
	width, prec                     int
	hasPrec                         bool
	long                            bool // 64 bits
	short                           int  // h: 1, hh: 2
}

// parse reads a conversion from f[i:] up to its letter.
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
	if s.width < 0 {
		s.minus, s.width = true, -s.width
	}
	if i < len(f) && f[i] == '.' {
		s.hasPrec = true
		i, s.prec = p.number(f, i+1)
	}
	for ; i < len(f); i++ {
		switch f[i] {
		case 'l', 'j', 'z', 't', 'L': // long is 64 bits, as the host's
			s.long = true
		case 'h':
			s.short++
		default:
			return i
		}
	}
	return i
}

// number reads a width or precision, which may be an argument.
func (p *printer) number(f string, i int) (int, int) {
	if i < len(f) && f[i] == '*' {
		return i + 1, int(int32(p.arg(4)))
	}
	n := 0
	for ; i < len(f) && f[i] >= '0' && f[i] <= '9'; i++ {
		n = n*10 + int(f[i]-'0')
	}
	return i, n
}

// convert formats the next argument.
func (p *printer) convert(c byte, s spec) (string, bool) {
	switch c {
	case '%':
		return "%", true
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
		digits := strconv.FormatUint(magnitude(x), 10)
		return s.pad(s.sign(x < 0), s.precise(digits)), true
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
		return s.unsigned(c, x), true
	case 'c':
		return s.text(string([]byte{byte(p.arg(4))})), true
	case 's':
		t := p.w.cString(p.in, p.arg(8), p.lane)
		if s.hasPrec && s.prec < len(t) {
			t = t[:s.prec]
		}
		return s.text(t), true
	case 'p':
		return s.text("0x" + strconv.FormatUint(p.arg(8), 16)), true
	case 'f', 'F', 'e', 'E', 'g', 'G', 'a', 'A':
		return s.float(c, math.Float64frombits(p.arg(8))), true
	}
	return "", false
}

// integer reads a 32-bit argument unless s is long, when last reads 64.
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

// precise adds leading zeros up to the precision.
func (s *spec) precise(digits string) string {
	if !s.hasPrec {
		return digits
	}
	s.zero = false
	if s.prec == 0 && digits == "0" {
		return ""
	}
	return strings.Repeat("0", max(0, s.prec-len(digits))) + digits
}

// pad fills up to the width between or around prefix and body.
func (s *spec) pad(prefix, body string) string {
	n := max(0, s.width-len(prefix)-len(body))
	switch {
	case s.minus:
		return prefix + body + strings.Repeat(" ", n)
	case s.zero:
		return prefix + strings.Repeat("0", n) + body
	}
	return strings.Repeat(" ", n) + prefix + body
}

func (s *spec) text(t string) string {
	s.zero = false
	return s.pad("", t)
}

func (s *spec) unsigned(c byte, x uint64) string {
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
	return s.pad(prefix, s.precise(digits))
}

func (s *spec) float(c byte, x float64) string {
	sign := s.sign(math.Signbit(x))
	x = math.Abs(x)
	upper := c < 'a'
	if upper {
		c += 'a' - 'A'
	}
	var t string
	switch {
	case math.IsInf(x, 0):
		s.zero, t = false, "inf"
	case x != x:
		s.zero, t = false, "nan"
	case c == 'a':
		t = hexFloat(x, s)
	default:
		verb := "%"
		if s.sharp {
			verb += "#"
		}
		prec := 6
		if s.hasPrec {
			prec = s.prec
		}
		if c == 'g' && prec == 0 {
			prec = 1
		}
		t = fmt.Sprintf(verb+"."+strconv.Itoa(prec)+string(c), x)
	}
	if upper {
		t = strings.ToUpper(t)
	}
	return s.pad(sign, t)
}

func hexFloat(x float64, s *spec) string {
	prec := -1
	if s.hasPrec {
		prec = s.prec
	}
	t := strconv.FormatFloat(x, 'x', prec, 64)
	// Go writes two digits of the exponent at least, C one.
	if i := strings.IndexByte(t, 'p'); i >= 0 && len(t) == i+4 && t[i+2] == '0' {
		t = t[:i+2] + t[i+3:]
	}
	return t
}
