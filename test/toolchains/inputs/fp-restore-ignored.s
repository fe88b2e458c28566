# stack: inner.cold middle _start
# The cold part of a function whose parts save the frame pointer separately, as GCC
# writes it: its first row is that of code that has saved rbp, and a later part has not.
# The slot holds an older frame pointer.
	.include "common.inc"
	.text
	function inner
	sub $56, %rsp
	.cfi_def_cfa_offset 64
	lea decoy(%rip), %rax
	mov %rax, 16(%rsp)
	jmp without
	end inner

	.type inner.cold, @function
inner.cold:
	.cfi_startproc
	.cfi_def_cfa_offset 64
	.cfi_offset 6, -48
	nop
without:
	.cfi_restore 6
here:	nop
	add $56, %rsp
	.cfi_def_cfa_offset 8
	ret
	end inner.cold

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
