# stack: inner middle _start
# A function that has put its return address back on the stack, and uses the register
# that it was in for something else.
	.include "common.inc"
	.text
	function inner
	pop %rcx
	.cfi_def_cfa_offset 0
	.cfi_register 16, 2
	nop
	push %rcx
	.cfi_def_cfa_offset 8
	.cfi_restore 16
	lea inner(%rip), %rcx
here:	nop
	ret
	end inner

	function middle
	call inner
	ret
	end middle

	function _start
	.cfi_undefined 16
	call middle
	hlt
	end _start
