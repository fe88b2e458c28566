# The library that the inputs about PLTs call.
	.include "common.inc"
	.text
	function callee
	ret
	end callee
