package tensor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

// matrixKernel returns a kernel test(d, a, rows). a contains 128 words: the four registers of each
// lane, or 32 rows of four words. rows contains, for each lane, the row whose address the lane
// supplies. d receives 128 words.
func matrixKernel(body string) string {
	return ".version 7.8\n.target sm_90\n.address_size 64\n" + `
.visible .entry test(.param .u64 pd, .param .u64 pa, .param .u64 prows)
{
	.reg .b32 %lane, %r<9>, %own, %row, %s<5>;
	.reg .b64 %d, %a, %rows, %off, %generic;
	.shared .align 16 .b8 tile[512];
	ld.param.u64 %d, [pd];
	ld.param.u64 %a, [pa];
	ld.param.u64 %rows, [prows];
	mov.u32 %lane, %tid.x;
	mov.u32 %own, tile;
	mul.wide.u32 %off, %lane, 4;
	add.u64 %rows, %rows, %off;
	ld.global.u32 %row, [%rows];
	mad.lo.u32 %row, %row, 16, %own;
	mad.lo.u32 %own, %lane, 16, %own;
	cvt.u64.u32 %generic, %row;
	cvta.shared.u64 %generic, %generic;
` + body + "\tret;\n}\n"
}

// Parts of the kernels, which read a and write d by rows or by registers.
const (
	rowsToShared = `
	mul.wide.u32 %off, %lane, 16;
	add.u64 %a, %a, %off;
	ld.global.v4.u32 {%s0, %s1, %s2, %s3}, [%a];
	st.shared.v4.u32 [%own], {%s0, %s1, %s2, %s3};
	bar.warp.sync 0xffffffff;
`
	sharedToRows = `
	bar.warp.sync 0xffffffff;
	ld.shared.v4.u32 {%s0, %s1, %s2, %s3}, [%own];
	mul.wide.u32 %off, %lane, 16;
	add.u64 %d, %d, %off;
	st.global.v4.u32 [%d], {%s0, %s1, %s2, %s3};
`
	loadRegisters = `
	add.u64 %a, %a, %off;
	ld.global.u32 %r0, [%a];
	ld.global.u32 %r1, [%a+128];
	ld.global.u32 %r2, [%a+256];
	ld.global.u32 %r3, [%a+384];
`
	storeRegister = `
	mul.wide.u32 %%off, %%lane, 4;
	add.u64 %%generic, %%d, %%off;
	st.global.u32 [%%generic+%d], %%r%d;
`
)

// runMatrix runs a kernel on one warp and returns d.
func runMatrix(t *testing.T, c *driver.Context, text string, a, rows []uint32) []uint32 {
	t.Helper()
	m, err := c.LoadModule([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	k, err := m.Kernel("test")
	if err != nil {
		t.Fatal(err)
	}
	d := toDevice(t, c, make([]uint32, 128))
	if err := launchAndWait(c, k, 1, 32, d, toDevice(t, c, a), toDevice(t, c, rows)); err != nil {
		t.Fatal(err)
	}
	got := make([]uint32, 128)
	if err := d.CopyTo(got); err != nil {
		t.Fatal(err)
	}
	return got
}

func toDevice(t *testing.T, c *driver.Context, v []uint32) *driver.Buffer[uint32] {
	t.Helper()
	b, err := driver.AllocFrom(c, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// matrixInputs returns 128 words that contain 256 different halves, and a permutation of the 32
// rows.
func matrixInputs() (a, rows []uint32) {
	for i := range uint32(128) {
		a = append(a, 2*i|(2*i+1)<<16)
	}
	for i := range uint32(32) {
		rows = append(rows, (i*13+5)%32)
	}
	return a, rows
}

func half(words []uint32, i int) uint32 { return words[i/2] >> (i % 2 * 16) & 0xffff }

func TestLdmatrixLoadsRowsOfTheLanesAddresses(t *testing.T) {
	a, rows := matrixInputs()
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		for _, number := range []int{1, 2, 4} {
			for _, trans := range []string{"", ".trans"} {
				for _, space := range []string{".shared", ".shared::cta", ""} {
					got := runMatrix(t, c, ldmatrixKernel(number, trans, space), a, rows)
					want := make([]uint32, 128)
					for i := range 32 * number {
						want[i] = fragmentOf(a, rows[i/32*8:], i%32, trans != "")
					}
					if !slices.Equal(got, want) {
						t.Errorf("x%d%s%s: %x, want %x", number, trans, space, got, want)
					}
				}
			}
		}
	})
}

func ldmatrixKernel(number int, trans, space string) string {
	address := "%row"
	if space == "" {
		address = "%generic"
	}
	b := rowsToShared + fmt.Sprintf("\tldmatrix.sync.aligned.m8n8.x%d%s%s.b16 {%s}, [%s];\n", number, trans, space, registers(number), address)
	for r := range number {
		b += fmt.Sprintf(storeRegister, 128*r, r)
	}
	return matrixKernel(b)
}

func registers(n int) string {
	return strings.Join([]string{"%r0", "%r1", "%r2", "%r3"}[:n], ", ")
}

// fragmentOf returns the word of a matrix that a lane holds. Row i of the matrix is row rows[i] of
// a.
func fragmentOf(a, rows []uint32, lane int, trans bool) uint32 {
	at := func(row, col int) uint32 {
		if trans {
			row, col = col, row
		}
		return half(a, int(rows[row])*8+col)
	}
	return at(lane/4, lane%4*2) | at(lane/4, lane%4*2+1)<<16
}

func TestStmatrixStoresRowsAtTheLanesAddresses(t *testing.T) {
	a, rows := matrixInputs()
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		for _, number := range []int{1, 2, 4} {
			for _, trans := range []string{"", ".trans"} {
				text := matrixKernel("\tst.shared.v4.u32 [%own], {%lane, %lane, %lane, %lane};\n\tbar.warp.sync 0xffffffff;\n" + loadRegisters +
					fmt.Sprintf("\tstmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [%%row], {%s};\n", number, trans, registers(number)) + sharedToRows)
				got := runMatrix(t, c, text, a, rows)
				for k := range number {
					checkStored(t, got, rows[8*k:8*k+8], a[32*k:], fmt.Sprintf("x%d%s, matrix %d", number, trans, k), trans != "")
				}
				for k := 8 * number; k < 32; k++ { // the rows that are not stored must be unchanged
					if r := rows[k]; !slices.Equal(got[4*r:4*r+4], []uint32{r, r, r, r}) {
						t.Errorf("x%d%s: row %d became %x", number, trans, r, got[4*r:4*r+4])
					}
				}
			}
		}
	})
}

// checkStored checks that the stored rows equal the matrix in the registers.
func checkStored(t *testing.T, got, rows, register []uint32, what string, trans bool) {
	t.Helper()
	for lane := range 32 {
		if v := fragmentOf(got, rows, lane, trans); v != register[lane] {
			t.Errorf("%s: elements of lane %d are %x, want %x", what, lane, v, register[lane])
		}
	}
}

func TestMovmatrixTransposes(t *testing.T) {
	a, rows := matrixInputs()
	identity := []uint32{0, 1, 2, 3, 4, 5, 6, 7}
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		for _, d := range []string{"%r0", "%r4"} { // %r0 tests the operation in place
			text := matrixKernel(loadRegisters + "\tmovmatrix.sync.aligned.m8n8.trans.b16 " + d + ", %r0;\n" + "\tmov.b32 %r0, " + d + ";\n" + fmt.Sprintf(storeRegister, 0, 0))
			got := runMatrix(t, c, text, a, rows)
			for lane := range 32 {
				if want := fragmentOf(a, identity, lane, true); got[lane] != want {
					t.Errorf("to %s: lane %d has %x, want %x", d, lane, got[lane], want)
				}
			}
		}
	})
}
