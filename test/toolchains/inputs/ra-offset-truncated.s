# stack: inner middle _start
# The return address is kept 400 bytes below the CFA, whose offset fits into a byte.
	.include "common.inc"
	.text
	function inner
	pop %rax
	.cfi_def_cfa_offset 0
	sub $400, %rsp
	.cfi_def_cfa_offset 400
	mov %rax, 0(%rsp)
	.cfi_offset 16, -400
	add $400, %rsp
	.cfi_def_cfa_offset 0
here:	nop
	push %rax
	.cfi_def_cfa_offset 8
	.cfi_offset 16, -8
	ret
	end inner

	function middle
	sub $504, %rsp
	.cfi_def_cfa_offset 512
	call inner
	add $504, %rsp
	.cfi_def_cfa_offset 8
	ret
	end middle

	function _start
	.cfi_undefined 16
	call middle
	hlt
	end _start
