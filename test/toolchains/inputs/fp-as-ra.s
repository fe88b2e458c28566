// machine: aarch64
// stack: inner middle _start
// The frame pointer is saved, the return address is not. The word there looks like one.
	.text
	.globl inner
	.type inner, %function
inner:
	.cfi_startproc
	sub sp, sp, #32
	.cfi_def_cfa_offset 32
	str x29, [sp, #16]
	.cfi_offset 29, -16
	udf #0
	ldr x29, [sp, #16]
	.cfi_restore 29
	add sp, sp, #32
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size inner, .-inner

	.type middle, %function
middle:
	.cfi_startproc
	stp x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	mov x29, sp
	bl inner
	ldp x29, x30, [sp], #16
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size middle, .-middle

	.globl _start
	.type _start, %function
_start:
	.cfi_startproc
	.cfi_undefined 30
	bl middle
	udf #0
	.cfi_endproc
	.size _start, .-_start
