# stack: - middle _start
# steps: 5
# link: -z ibtplt -z lazy
# An entry of .plt with endbr64, behind its push.
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
