# stack: middle _start
# A function that aligns its stack keeps the address of its arguments in r10.
	.include "common.inc"
	.text

	function middle
	lea 8(%rsp), %r10
	.cfi_def_cfa 10, 0
	and $-64, %rsp
	sub $64, %rsp
	movq $_start, 0(%rsp)
here:	nop
	lea -8(%r10), %rsp
	.cfi_def_cfa 7, 8
	ret
	end middle

	function _start
	.cfi_undefined 16
	call middle
	hlt
	end _start
