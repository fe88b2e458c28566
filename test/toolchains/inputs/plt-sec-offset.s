# stack: - middle _start
# steps: 1
# link: -z ibtplt -z lazy
# Calls go through .plt.sec if programs are linked for indirect branch tracking.
	.include "common.inc"
	.text
	function middle
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
