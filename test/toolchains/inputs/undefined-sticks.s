# stack: inner middle _start
# A part of the function has no caller, the next part has.
	.include "common.inc"
	.text
	function inner
	nop
	.cfi_undefined 16
	nop
	.cfi_offset 16, -8
here:	nop
	ret
	end inner

	function middle
	call inner
	ret
	end middle

	function _start
	.cfi_undefined 16
	call middle
	hlt
	end _start
