// churn creates and ends threads at full speed until its standard input ends.
// Four makers create one thread after another; each of those is in three calls
// of descend when it ends, creates one more of its kind every other time, and
// nobody waits for it.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_attr_t detached;
static volatile long ended;

static void *leaf(void *arg);

static void spawn(long again) {
	pthread_t t;
	while (pthread_create(&t, &detached, leaf, (void *)again) != 0)
		sched_yield();
}

__attribute__((noinline)) int descend(int n, long again) {
	volatile char room[100];
	room[n] = (char)n;
	if (n > 1)
		return descend(n - 1, again) + room[n];
	if (again)
		spawn(0);
	for (volatile int i = 0; i < 2000; i++)
		;
	return room[n];
}

static void *leaf(void *again) {
	descend(3, (long)again);
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
	return 0;
}

static void *maker(void *arg) {
	for (long made = 0;; made++) {
		spawn(made & 1);
		while (made - ended / 4 > 100) // not more than some hundred at a time
			sched_yield();
	}
	return arg;
}

int main(void) {
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&detached, 64 << 10);
	for (long i = 0; i < 4; i++) {
		pthread_t t;
		if (pthread_create(&t, 0, maker, (void *)i) != 0)
			return 1;
	}
	printf("ready\n");
	fflush(stdout);
	char c;
	while (read(0, &c, 1) > 0)
		;
	printf("%ld\n", ended);
	return 0;
}
