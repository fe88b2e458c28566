// hostile MODE works against whoever visits it, in the way that MODE names. All
// the time a thread named "waits" is in three calls of descend.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t ready;
static pthread_mutex_t forever = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) int descend(int n) {
	volatile char room[200];
	room[n] = (char)n;
	if (n > 1)
		return descend(n - 1) + room[n];
	sem_post(&ready);
	pthread_mutex_lock(&forever);
	return room[n];
}

static void *run(void *arg) {
	prctl(PR_SET_NAME, "waits");
	descend(3);
	return arg;
}

static int fail(const char *what) {
	printf("%s: %s\n", what, strerror(errno));
	fflush(stdout);
	return 1;
}

// reuse starts a process, and for each line of input another one with its id.
static int reuse(void) {
	pid_t pid = fork();
	for (;;) {
		if (pid == 0) {
			for (;;)
				pause();
		}
		printf("%d\n", pid);
		fflush(stdout);
		if (getchar() == EOF)
			break;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		uint64_t args[10] = {0}; // struct clone_args
		int32_t id = pid;
		args[4] = SIGCHLD;
		args[8] = (uint64_t)(uintptr_t)&id; // set_tid
		args[9] = 1;
		pid_t again = syscall(SYS_clone3, args, 80);
		if (again < 0)
			return fail("clone3");
		if (again == 0)
			prctl(PR_SET_NAME, "second");
		pid = again;
	}
	kill(pid, SIGKILL);
	return 0;
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "";
	if (!strcmp(mode, "reuse"))
		return reuse();
	pthread_t t;
	sem_init(&ready, 0, 0);
	pthread_mutex_lock(&forever);
	if (pthread_create(&t, NULL, run, NULL) != 0)
		return fail("pthread_create");
	sem_wait(&ready);
	char exe[4096] = "";
	if (readlink("/proc/self/exe", exe, sizeof exe - 1) < 0)
		return fail("readlink");
	if (!strcmp(mode, "mount") && (unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL)))
		return fail("unshare");
	if (argc < 3) { // not executed again
		puts("ready");
		fflush(stdout);
	}
	for (int n = 0;; n++) {
		if (!strcmp(mode, "fork")) {
			pid_t pid = fork();
			if (pid == 0)
				_exit(0);
			waitpid(pid, NULL, 0);
		} else if (!strcmp(mode, "exec")) {
			usleep(3000);
			execl(exe, argv[0], mode, "again", NULL);
			return fail("execl");
		} else if (!strcmp(mode, "setuid")) {
			if (setresuid(65534, 65534, 0) || setresuid(0, 0, 0))
				return fail("setresuid");
		} else if (!strcmp(mode, "mount")) { // another program in the place of this one
			if (mount("/bin/sh", exe, NULL, MS_BIND, NULL) || (n % 2 && usleep(500)) || umount2(exe, MNT_DETACH))
				return fail("mount");
		} else {
			return fail("no such mode");
		}
	}
}
