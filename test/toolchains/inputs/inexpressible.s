# stack: inner middle _start
# The CFA is where the stack says: DW_CFA_def_cfa_expression rsp+0, deref, +8. No
# version of SFrame has the addition.
	.include "common.inc"
	.text
	function inner
	nop
here:	nop
	ret
	end inner

	function middle
	mov %rsp, %rax
	sub $64, %rsp
	push %rax
	.cfi_escape 0x0f, 5, 0x77, 0, 0x06, 0x23, 8
	call inner
	pop %rsp
	.cfi_def_cfa 7, 8
	ret
	end middle

	function _start
	.cfi_undefined 16
	call middle
	hlt
	end _start
