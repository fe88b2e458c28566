/* Crashes while it executes itself: a thread writes to address 0 after some microseconds, and the main thread calls execv
 * until it has done so argv[1] times. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *crash(void *delay)
{
	usleep(*(unsigned *)delay);
	*(volatile int *)0 = 1;
	return 0;
}

int main(int argc, char **argv)
{
	unsigned left = argc > 2 ? atoi(argv[1]) : 0, delay = argc > 2 ? atoi(argv[2]) : 0;
	char text[16];
	pthread_t thread;
	pthread_create(&thread, 0, crash, &delay);
	if (left > 0) {
		snprintf(text, sizeof text, "%u", left - 1);
		execv("/proc/self/exe", (char *[]){argv[0], text, argv[2], 0});
	}
	pthread_join(thread, 0);
	return 0;
}
