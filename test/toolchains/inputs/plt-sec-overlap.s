# stack: middle _start
# link: -z ibtplt -z lazy
# The only entry of .plt.sec, with the code that calls it right behind.
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
