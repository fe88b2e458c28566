# stack: inner middle _start
# A function that keeps its caller's frame pointer in another register.
	.include "common.inc"
	.text
	function inner
	mov %rbp, %rcx
	.cfi_register 6, 2
	lea decoy(%rip), %rbp
here:	nop
	mov %rcx, %rbp
	.cfi_restore 6
	ret
	end inner

	function middle
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register 6
	call inner
	leave
	.cfi_def_cfa 7, 8
	ret
	end middle

	function _start
	.cfi_undefined 16
	call middle
	hlt
	end _start

	.data
	.balign 8
decoy:	.quad 0, 0, 0
