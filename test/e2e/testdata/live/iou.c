// iou has the kernel make a thread of its own in this process: the poller of an
// io_uring. It prints "ready", or why it cannot.
#include <errno.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
	struct io_uring_params p = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1000000};
	if (syscall(SYS_io_uring_setup, 8, &p) < 0)
		printf("io_uring: %s\n", strerror(errno));
	else
		printf("ready\n");
	fflush(stdout);
	char c;
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
