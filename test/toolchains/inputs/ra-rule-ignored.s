# stack: inner middle _start
# A function that has taken its return address off the stack, as a thunk of a
# retpoline does.
	.include "common.inc"
	.text
	function inner
	pop %rcx
	.cfi_def_cfa_offset 0
	.cfi_register 16, 2
	movq $0, -8(%rsp)
here:	nop
	push %rcx
	.cfi_def_cfa_offset 8
	.cfi_offset 16, -8
	ret
	end inner

	function middle
	sub $24, %rsp
	.cfi_def_cfa_offset 32
	movq $0, 0(%rsp)
	call inner
	add $24, %rsp
	.cfi_def_cfa_offset 8
	ret
	end middle

	function _start
	.cfi_undefined 16
	call middle
	hlt
	end _start
