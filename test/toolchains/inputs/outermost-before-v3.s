# stack: inner _start
# The outermost frame ends the stack. What follows is argc and the arguments.
	.include "common.inc"
	.text
	function inner
	nop
here:	nop
	ret
	end inner

	function _start
	.cfi_undefined 16
	call inner
	hlt
	end _start
