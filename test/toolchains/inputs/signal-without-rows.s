# stack: handler restorer middle _start
# The function that a signal handler returns to, with the call frame information that
# the C library has for it: every register is in the ucontext.
	.include "common.inc"
	.text
	function handler
	nop
here:	nop
	ret
	end handler

	.balign 16
	nop
	.type restorer, @function
restorer:
	.cfi_startproc simple
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 0x06 # the CFA is rsp+160, deref
	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0    # rbp is at rsp+120
	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1   # rip is at rsp+168
	mov $15, %eax # rt_sigreturn
	syscall
	end restorer

	function middle
	mov $13, %eax # rt_sigaction
	mov $10, %edi # SIGUSR1
	lea action(%rip), %rsi
	xor %edx, %edx
	mov $8, %r10d
	syscall
	mov $39, %eax # getpid
	syscall
	mov %eax, %edi
	mov $10, %esi
	mov $62, %eax # kill
	syscall
	nop
	ret
	end middle

	function _start
	.cfi_undefined 16
	call middle
	mov $60, %eax # exit
	syscall
	end _start

	.data
	.balign 8
action:	.quad handler, 0x04000000, restorer, 0
