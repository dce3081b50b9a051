package isa_test

import (
	"strings"
	"testing"
)

// ptxas 12.4 accepts each of these instructions.
var acceptedByPtxas = []struct{ version, target, line string }{
	{"6.0", "sm_70", "wmma.load.a.sync.row.m16n16k16.f16 {%b1, %b2, %b3, %b4, %b5, %b6, %b7, %b8}, [%bd4];"},
	{"6.4", "sm_70", "wmma.mma.sync.aligned.row.col.m16n16k16.satfinite.f32.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, {%b1, %b1, %b1, %b1, %b1, %b1, %b1, %b1}, {%b1, %b1, %b1, %b1, %b1, %b1, %b1, %b1}, {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1};"},
	{"8.1", "sm_89", "cvt.rn.f16x2.e5m2x2 %b1, %h1;"},
	{"7.8", "sm_90", "cvt.rn.f16x2.e5m2x2 %b1, %h1;"},
	{"8.1", "sm_90", "multimem.red.min.v2.f16x2 [%bd1], {%b1, %b2};"},
	{"8.1", "sm_90", "multimem.ld_reduce.min.f16x2 %b1, [%bd1];"},
	{"8.1", "sm_90", "multimem.red.min.s64 [%bd1], %bd1;"},
	{"8.1", "sm_90", "st.async.mbarrier::complete_tx::bytes.v2.b64 [%bd5], {%bd8, %bd7}, [%bd7];"},
	{"8.0", "sm_80", "mbarrier.test_wait.acquire.cta.b64 %p1, [%bd1], %bd2;"},
	{"8.3", "sm_90a", "tensormap.replace.tile.elemtype.b1024.b32 [%bd1], 12;"},
	{"8.0", "sm_90", "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%bd1], [%bd2, {%s1}], [%bd3];"},
	{"8.0", "sm_90", "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%bd2, {-1}], [%bd3];"},
	{"8.0", "sm_90", "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%bd1], [%bd2, {%s1, 1}], [%bd3];"},
	{"8.0", "sm_90", "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%bd1], [%bd2, {%s1, %s2, %s3, %s4}], [%bd3], {%h1, %h2}, %h3, %bd5;"},
	{"8.0", "sm_90", "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint [%bd2, {%s1, %s2}], [%bd3], %bd4;"},
	{"8.0", "sm_90", "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%bd2, {%s1, %s2, %s3}];"},
	{"8.0", "sm_90", "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col.L2::cache_hint [%bd2, {%s1, %s2, %s3}], {%h1}, %bd1;"},
}

// ptxas 12.4 rejects each of these instructions.
var rejectedByPtxas = []struct{ version, target, line, says string }{
	{"6.0", "sm_70", "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%b1, %b2, %b3, %b4, %b5, %b6, %b7, %b8}, [%bd4];", ".aligned of wmma.load.a.sync.aligned.row.m16n16k16.f16 needs PTX 6.3"},
	{"6.3", "sm_70", "wmma.load.a.sync.row.m16n16k16.f16 {%b1, %b2, %b3, %b4, %b5, %b6, %b7, %b8}, [%bd4];", "not available from PTX 6.3 on"},
	{"6.5", "sm_70", "wmma.mma.sync.aligned.row.col.m16n16k16.satfinite.f32.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, {%b1, %b1, %b1, %b1, %b1, %b1, %b1, %b1}, {%b1, %b1, %b1, %b1, %b1, %b1, %b1, %b1}, {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1};", "not available from PTX 6.5 on"},
	{"7.0", "sm_80", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%b1, %b2, %b3, %b4}, {1, %b2}, {%f1, %f2, %f3, %f4};", "operand 3 must be a register, 2 values, each .b32"},
	{"8.0", "sm_89", "cvt.rn.f16x2.e5m2x2 %b1, %h1;", "needs PTX 8.1 and sm_89"},
	{"8.1", "sm_90", "multimem.red.min.f16x2 [%bd1], %b1;", "lacks a modifier: one of .v2 .v4"},
	{"8.1", "sm_90", "multimem.red.min.f64 [%bd1], %d1;", "do not go together"},
	{"8.1", "sm_90", "multimem.red.add.s64 [%bd1], %bd1;", "do not go together"},
	{"8.1", "sm_90", "multimem.ld_reduce.add.s64 %bd1, [%bd1];", "do not go together"},
	{"8.1", "sm_90", "st.async.mbarrier::complete_tx::bytes.v4.b64 [%bd5], {%bd8, %bd7, %bd5, %bd1}, [%bd7];", "a vector of 32 bytes; at most 16"},
	{"8.0", "sm_80", "mbarrier.test_wait.acquire.cluster.b64 %p1, [%bd1], %bd2;", ".cluster of mbarrier.test_wait.acquire.cluster.b64 needs PTX 8.0 and sm_90"},
	{"7.8", "sm_90", "ld.local.L1::no_allocate.f32 %f1, [%bd1];", "do not go together"},
	{"8.3", "sm_90a", "tensormap.replace.tile.elemtype.b1024.b32 [%bd1], 13;", "it must be from 0 to 12"},
	{"8.3", "sm_90a", "tensormap.replace.tile.fill_mode.b1024.b32 [%bd1], 2;", "it must be from 0 to 1"},
	{"8.3", "sm_70", "st.relaxed.sys.b128 [%bd1], 0;", ".sys of st.relaxed.sys.b128 needs PTX 8.4"},
	{"1.2", "sm_11", "atom.shared.exch.b32 %b1, [sv], %b2;", ".shared needs sm_12"},
	{"7.8", "sm_80", "cp.async.cg.shared.global [%bd3], [gv+8], 16, 17;", "operand 4 is 17: it must be from 0 to 16"},
	{"8.1", "sm_90", "add.oob.f16 %h1, %h1, %h1;", "add has no modifier .oob"},
	{"8.0", "sm_90", "fma.rn.oob.f16 %h1, %h1, %h1, %h1;", "needs PTX 8.1 and sm_90"},
	{"8.0", "sm_90", "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%bd1], [%bd2], [%bd3];", "operand 2 must be [map, {coordinates}]"},
	{"8.0", "sm_90", "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%bd1], [%bd2, %s1], [%bd3];", "a vector of 1 coordinates"},
	{"8.0", "sm_90", "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%bd2, {%s1}], [%bd3];", "a vector of 2 coordinates"},
	{"8.0", "sm_90", "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%bd2, {%f1, %f2}], [%bd3];", "the coordinates of operand 1"},
	{"8.0", "sm_90", "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%bd2, {%s1, %s2}], [%bd3], %bd4;", "3 operands; with these modifiers it takes 2"},
	{"8.0", "sm_90", "cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%bd1], [%bd2, {%s1, %s2}], [%bd3], {%h1};", "3 to 5 dimensions, not 2"},
	{"8.0", "sm_90", "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%bd1], [%bd2, {%s1, %s2, %s3}], [%bd3], %h1;", "operand 4 must be a vector of 1 elements in braces"},
	{"8.0", "sm_90", "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%bd1], [%bd2, {%s1, %s2}], [%bd3], %b1;", "operand 4 is register %b1 of type .b32; it must be .u16"},
	{"8.0", "sm_90", "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.im2col_no_offs.bulk_group [%bd2, {%s1, %s2}], [%bd3];", "3 to 5 dimensions, not 2"},
}

// Check must agree with ptxas 12.4 on these instructions. Each was found by a comparison of random
// instructions.
func TestMeasuredInstructions(t *testing.T) {
	for _, c := range acceptedByPtxas {
		if err := check(t, in(c.version, c.target, c.line)); err != nil {
			t.Errorf("PTX %s for %s: %s: %v", c.version, c.target, c.line, err)
		}
	}
	for _, c := range rejectedByPtxas {
		err := check(t, in(c.version, c.target, c.line))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("PTX %s for %s: %s:\n  got  %v\n  want %s", c.version, c.target, c.line, err, c.says)
		}
	}
}
