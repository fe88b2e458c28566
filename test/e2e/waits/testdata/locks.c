/* Threads that wait for each other, or seem to. The argument says how. Each thread
   prints its name and id before it waits. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t held;  /* all have what they hold */
static pthread_t threads[100];

static void say(const char *name) { printf("%s %ld\n", name, (long)syscall(SYS_gettid)); fflush(stdout); }
static void fail(const char *what) { perror(what); exit(1); }
static void nap(void) { for (;;) pause(); }

static void limited(pthread_mutex_t *m) {
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += 100000;
	pthread_mutex_timedlock(m, &ts);
}

static void kind(pthread_mutex_t *m, int type, int robust, int protocol) {
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setrobust(&attr, robust);
	pthread_mutexattr_setprotocol(&attr, protocol);
	if (pthread_mutex_init(m, &attr)) fail("pthread_mutex_init");
}

/* Two threads that take two locks in different order. */
static void *ab(void *p) { say("ab"); pthread_mutex_lock(&a); pthread_barrier_wait(&held); pthread_mutex_lock(&b); return p; }
static void *ba(void *p) { say("ba"); pthread_mutex_lock(&b); pthread_barrier_wait(&held); pthread_mutex_lock(&a); return p; }
static void *ba_limited(void *p) { say("ba"); pthread_mutex_lock(&b); pthread_barrier_wait(&held); limited(&a); return p; }

static void *twice(void *p) { say("twice"); pthread_mutex_lock(&a); pthread_mutex_lock(&a); return p; }

static void *writer_a(void *p) { say("writer"); pthread_rwlock_wrlock(&rw); pthread_barrier_wait(&held); pthread_mutex_lock(&a); return p; }
static void *a_reader(void *p) { say("reader"); pthread_mutex_lock(&a); pthread_barrier_wait(&held); pthread_rwlock_rdlock(&rw); return p; }

static void *holder(void *p) { say("holder"); pthread_rwlock_wrlock(&rw); pthread_barrier_wait(&held); nap(); return p; }
static void *reader(void *p) { say("reader"); pthread_barrier_wait(&held); pthread_rwlock_rdlock(&rw); return p; }
static void *writer(void *p) { say("writer"); pthread_barrier_wait(&held); pthread_rwlock_wrlock(&rw); return p; }
static void *sharer(void *p) { say("sharer"); pthread_rwlock_rdlock(&rw); pthread_barrier_wait(&held); nap(); return p; }

static void *join(void *p) {
	char name[] = "join0";
	long n = (long)p;
	name[4] += n;
	say(name);
	pthread_barrier_wait(&held);
	pthread_join(threads[(n + 1) % 3], NULL);
	return p;
}

static void *worker(void *p) { say("worker"); pthread_mutex_lock(&a); return p; }
static void *crowd(void *p) { char name[16]; sprintf(name, "crowd%02ld", (long)p); say(name); pthread_mutex_lock(&a); return p; }

/* Nobody waits: who does not get the second lock lets go of the first. */
static void *polite(void *p) {
	pthread_mutex_t *first = p ? &a : &b, *second = p ? &b : &a;
	say(p ? "polite1" : "polite2");
	for (;;) {
		pthread_mutex_lock(first);
		usleep(100);
		if (!pthread_mutex_trylock(second)) pthread_mutex_unlock(second);
		pthread_mutex_unlock(first);
	}
}

/* All take the locks in the same order. */
static void *busy(void *p) {
	say("busy");
	for (;;) {
		pthread_mutex_lock(&a);
		pthread_mutex_lock(&b);
		pthread_rwlock_wrlock(&rw);
		pthread_rwlock_unlock(&rw);
		pthread_mutex_unlock(&a);
		pthread_mutex_unlock(&b);
	}
	return p;
}

static void *again(void *p) {
	say("again");
	pthread_mutex_lock(&b);
	pthread_mutex_lock(&b);
	pthread_mutex_lock(&b);
	pthread_barrier_wait(&held);
	pthread_mutex_lock(&a);
	return p;
}
static void *asleep(void *p) { say("asleep"); pthread_mutex_lock(&a); pthread_barrier_wait(&held); nap(); return p; }
static void *behind(void *p) { say("behind"); pthread_barrier_wait(&held); pthread_mutex_lock(&b); return p; }

/* The mutex that a condition variable let go of has no owner. */
static void *waits_c(void *p) { say("waits"); pthread_mutex_lock(&a); pthread_mutex_lock(&c); pthread_barrier_wait(&held); pthread_cond_wait(&cond, &c); return p; }
static void *holds_c(void *p) { say("holds"); pthread_barrier_wait(&held); usleep(200000); pthread_mutex_lock(&c); pthread_mutex_lock(&a); return p; }

static void *forged(void *p) { say("forged"); pthread_mutex_lock(p); return p; }

static void start(int n, void *(*f)(void *), void *arg) {
	if (pthread_create(&threads[n], NULL, f, arg)) fail("pthread_create");
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "";
	int normal = PTHREAD_MUTEX_NORMAL, stalled = PTHREAD_MUTEX_STALLED;
	pthread_barrier_init(&held, NULL, 2);
	if (!strcmp(mode, "robust")) { kind(&a, normal, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE); kind(&b, normal, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE); }
	/* Of two such mutexes, the kernel would find the deadlock, and glibc would then wait for something else. */
	if (!strcmp(mode, "pi")) kind(&a, normal, stalled, PTHREAD_PRIO_INHERIT);
	if (!strcmp(mode, "abba") || !strcmp(mode, "robust") || !strcmp(mode, "pi")) {
		start(0, ab, NULL); start(1, ba, NULL);
	} else if (!strcmp(mode, "twice")) {
		start(0, twice, NULL);
	} else if (!strcmp(mode, "rwabba")) {
		start(0, writer_a, NULL); start(1, a_reader, NULL);
	} else if (!strcmp(mode, "rwlock")) {
		pthread_barrier_init(&held, NULL, 3);
		start(0, holder, NULL); start(1, reader, NULL); start(2, writer, NULL);
	} else if (!strcmp(mode, "shared")) {
		start(0, sharer, NULL); start(1, writer, NULL);
	} else if (!strcmp(mode, "joins")) {
		pthread_barrier_init(&held, NULL, 3);
		for (long i = 0; i < 3; i++) start(i, join, (void *)i);
	} else if (!strcmp(mode, "joinlock")) {
		say("main"); pthread_mutex_lock(&a); start(0, worker, NULL); pthread_join(threads[0], NULL);
	} else if (!strcmp(mode, "crowd")) {
		say("main"); pthread_mutex_lock(&a); for (long i = 0; i < 100; i++) start(i, crowd, (void *)i);
	} else if (!strcmp(mode, "timed")) {
		start(0, ab, NULL); start(1, ba_limited, NULL);
	} else if (!strcmp(mode, "polite")) {
		start(0, polite, NULL); start(1, polite, "");
	} else if (!strcmp(mode, "busy")) {
		for (int i = 0; i < 8; i++) start(i, busy, NULL);
	} else if (!strcmp(mode, "recursive")) {
		pthread_barrier_init(&held, NULL, 3);
		kind(&b, PTHREAD_MUTEX_RECURSIVE, stalled, PTHREAD_PRIO_NONE);
		start(0, asleep, NULL); start(1, again, NULL); start(2, behind, NULL);
	} else if (!strcmp(mode, "condition")) {
		start(0, waits_c, NULL); start(1, holds_c, NULL);
	} else if (!strcmp(mode, "forged")) {
		int words[10] = {2, 0, 0x3ffffff0, 1};
		static pthread_mutex_t m;
		memcpy(&m, words, sizeof words);
		start(0, forged, &m);
	} else {
		return 2;
	}
	nap();
}
