# stack: - middle _start
# steps: 1
# link: -z lazy
# A function that is called, and whose address is taken, has its entry in .plt.got. lld
# and mold write neither table for a PLT, which compare cannot see.
	.include "common.inc"
	.text
	function middle
	mov callee@GOTPCREL(%rip), %rax
	sub $8, %rsp
	.cfi_def_cfa_offset 16
here:	call callee@PLT
	add $8, %rsp
	.cfi_def_cfa_offset 8
	ret
	end middle

	function _start
	.cfi_undefined 16
	call middle
	mov $60, %eax # exit
	syscall
	end _start
	.skip 128, 0xcc # so that the PLT is not right behind _start
