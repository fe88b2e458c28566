# stack: middle _start
# link: -z lazy
# Call frame information behind the last instruction, as compilers write it where the
# code that follows cannot be reached. It makes a row at the end of the function, on
# which GNU ld up to 2.44 aborts.
	.include "common.inc"
	.text
	function middle
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
here:	nop
	call callee@PLT
	ud2
	.cfi_def_cfa_offset 8
	end middle

	function _start
	.cfi_undefined 16
	call middle
	hlt
	end _start
