// hung MODE DIR uses files of a file system that does not answer all requests (see
// fuse_test.go), and prints "ready" and its id. Then it prints, for every line that
// it reads, the longest time between two beats of 1 ms since the last line, in
// milliseconds. Two threads, "plain", wait in descend.
//
//	low    maps a file that is never read below everything else
//	text   maps that file as code
//	stack  has a thread with a stack that no read of the file has filled, but for its ends
//	lock   a thread waits for the file while it has the lock of the mappings
//	exec   a thread waits for the file in execve
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 2 << 20 };

static char never[256], partly[256];
static sem_t up;
static _Atomic long longest;
static void *dirty;

__attribute__((noinline)) int descend(int n) {
	volatile char room[200];
	room[n] = (char)n;
	if (n > 1)
		return descend(n - 1) + room[n];
	sem_post(&up);
	for (;;)
		pause();
}

static void *plain(void *arg) {
	prctl(PR_SET_NAME, "plain");
	return (void *)(long)descend(3);
}

__attribute__((noinline)) int with_room(void) {
	volatile char room[SIZE / 8 * 7];
	__asm__ volatile("" : : "r"(room) : "memory");
	return descend(2) + room[0];
}

static void *on_file(void *arg) {
	prctl(PR_SET_NAME, "on_file");
	return (void *)(long)with_room();
}

static void *locks(void *arg) {
	prctl(PR_SET_NAME, "locks");
	sem_post(&up);
	mmap(dirty, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	return 0;
}

static void *executes(void *arg) {
	prctl(PR_SET_NAME, "executes");
	sem_post(&up);
	execl(never, never, (char *)0);
	return 0;
}

static long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000L + t.tv_nsec / 1000000;
}

static void *beats(void *arg) {
	prctl(PR_SET_NAME, "beats");
	for (long last = now();;) {
		struct timespec beat = {.tv_nsec = 1000000};
		nanosleep(&beat, 0);
		long t = now();
		if (t - last > longest)
			longest = t - last;
		last = t;
	}
}

static void start(void *(*f)(void *), void *stack) {
	pthread_t t;
	pthread_attr_t a;
	pthread_attr_init(&a);
	if (stack)
		pthread_attr_setstack(&a, stack, SIZE);
	if (pthread_create(&t, &a, f, 0) != 0)
		exit(3);
}

static void *map(const char *file, void *at, size_t size, int prot, int flags) {
	int fd = open(file, prot & PROT_WRITE && flags & MAP_SHARED ? O_RDWR : O_RDONLY);
	void *p = mmap(at, size, prot, flags, fd, 0);
	if (fd < 0 || p == MAP_FAILED) {
		perror(file);
		exit(2);
	}
	madvise(p, size, MADV_RANDOM); // no more pages than are touched
	return p;
}

int main(int argc, char **argv) {
	const char *mode = argv[1];
	snprintf(never, sizeof never, "%s/never", argv[2]);
	snprintf(partly, sizeof partly, "%s/partly", argv[2]);
	sem_init(&up, 0, 0);
	start(beats, 0);
	start(plain, 0);
	start(plain, 0);
	int threads = 2;
	if (!strcmp(mode, "low"))
		map(never, (void *)0x100000, 4096, PROT_READ, MAP_SHARED | MAP_FIXED);
	if (!strcmp(mode, "text"))
		map(never, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE);
	if (!strcmp(mode, "stack")) {
		start(on_file, map(partly, 0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE));
		threads++;
	}
	while (threads-- > 0)
		sem_wait(&up);
	printf("ready %d\n", getpid());
	fflush(stdout);
	if (!strcmp(mode, "lock")) {
		mlockall(MCL_CURRENT); // a page fault of this thread would wait for the lock, too
		*(char *)(dirty = map(partly, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED)) = 1;
		start(locks, 0);
	}
	if (!strcmp(mode, "exec"))
		start(executes, 0);
	for (char c;;) {
		if (read(0, &c, 1) != 1)
			_exit(0);
		printf("%ld\n", longest);
		fflush(stdout);
		longest = 0;
	}
}
