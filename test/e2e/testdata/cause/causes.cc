// causes crashes in the way that its argument names. Names that end in "-twin" look like the
// one before and have another cause.
#include <assert.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdexcept>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xmmintrin.h>

struct object {
	int first;
	int second;
};

volatile uintptr_t zero = 0, small = 0x10, wild = 0xdead000000000000;
volatile int none = 0, minus = -1, least = -2147483647 - 1;
volatile size_t many = 100;
int numbers[8];
sigjmp_buf back;

struct node {
	long kept[2]; // which free overwrites
	node *next;
	long value;
};

__attribute__((noinline)) long value_of_next(node *n) { return n->next->value; }

__attribute__((noinline)) long free_then_value(node *n) {
	node *next = n->next; // before n is freed
	free(n);
	asm volatile("" : "+r"(next), "+r"(n) : : "memory");
	return next->value;
}

struct caller {
	long parts[4];
	void (*call)();
};

__attribute__((noinline)) void call_through(caller *c) {
	c->call();
	asm volatile("");
}

struct no_disk : std::runtime_error {
	no_disk() : std::runtime_error("no disk") {}
};

__attribute__((noinline)) int recurse(int n) {
	volatile char room[512];
	room[0] = n;
	return recurse(n + 1) + room[0];
}

__attribute__((noinline)) void below_stack() {
	volatile char here[16];
	volatile char *p = &here[0];
	p -= 64 << 20; // far below what the stack has now
	*p = 1;
}

void *thread(void *) { return (void *)(intptr_t)recurse(1); }

void *file(size_t size, size_t mapped) {
	char name[] = "/tmp/causes-XXXXXX";
	int fd = mkstemp(name);
	unlink(name);
	if (ftruncate(fd, size)) return 0;
	return mmap(0, mapped, PROT_READ, MAP_PRIVATE, fd, 0);
}

void forbid() {
	struct sock_filter code[] = {
		{BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offsetof(struct seccomp_data, nr)},
		{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_getppid},
		{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS},
		{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
	};
	struct sock_fprog prog = {4, code};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
	getppid();
}

int main(int argc, char **argv) {
	std::string how = argc > 1 ? argv[1] : "";
	auto is = [&](const char *name) { return how == name; };
	void *closed = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *page = (char *)mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (is("null")) return ((volatile object *)zero)->second;
	if (is("null-twin")) return ((volatile object *)small)->second;
	if (is("null-call")) ((void (*)())zero)();
	if (is("null-call-twin")) ((void (*)())small)();
	if (is("null-return-twin")) asm volatile("xor %%eax, %%eax; push %%rax; ret" ::: "eax");
	if (is("data-return-twin")) asm volatile("push %0; ret" ::"r"(page));
	if (is("data-call")) ((void (*)())page)();
	if (is("data-call-twin")) return *(volatile int *)closed;
	if (is("overflow")) return recurse(1);
	if (is("overflow-twin")) below_stack();
	if (is("thread-overflow")) {
		pthread_t t;
		pthread_create(&t, 0, thread, 0);
		pthread_join(t, 0);
	}
	if (is("non-canonical")) return *(volatile int *)wild;
	if (is("non-canonical-twin")) asm volatile("movl $0x7f, %%eax; mov %%eax, %%ds" ::: "eax");
	if (is("misaligned")) asm volatile("movaps %%xmm0, (%0)" ::"r"(page + 8) : "memory");
	if (is("misaligned-twin")) asm volatile("movaps %%xmm0, (%0)" ::"r"(wild) : "memory");
	if (is("privileged")) asm volatile("hlt");
	if (is("privileged-twin")) asm volatile("movl %0, %%eax; .global at_hlt; call 1f; hlt; 1: mov (%1), %%eax" ::"r"(0), "r"(wild) : "eax");
	if (is("read-only")) *(volatile char *)(uintptr_t) "constant" = 1;
	if (is("read-only-twin")) return *(volatile char *)closed;
	if (is("past-file")) return *((volatile char *)file(4096, 8192) + 4096);
	if (is("past-file-twin")) kill(getpid(), SIGBUS);
	if (is("division")) return least / none;
	if (is("division-twin")) return least / minus;
	if (is("trap")) __builtin_trap();
	if (is("trap-twin")) asm volatile(".byte 0x06");
	if (is("breakpoint")) asm volatile("int3");
	if (is("breakpoint-twin")) raise(SIGTRAP);
	if (is("seccomp")) forbid();
	if (is("seccomp-twin")) raise(SIGSYS);
	if (is("assertion")) assert(none > 0 && "a: reason");
	if (is("assertion-twin")) {
		fprintf(stderr, "causes: causes.cc:1: main: Assertion `none > 0' failed.\n");
		abort();
	}
	if (is("assertion-late-twin")) { // the note of an assertion that did not end the program
		signal(SIGABRT, [](int) { siglongjmp(back, 1); });
		if (!sigsetjmp(back, 1)) assert(none > 0);
		signal(SIGABRT, SIG_DFL);
		abort();
	}
	if (is("double-free")) {
		void *p = malloc(32);
		volatile uintptr_t v = (uintptr_t)p;
		free(p);
		free((void *)v);
	}
	if (is("double-free-twin")) {
		fprintf(stderr, "free(): double free detected in tcache 2\n");
		abort();
	}
	if (is("freed") || is("freed-large") || is("freed-twin") || is("freed-before-twin")) {
		size_t size = is("freed-large") ? 4000 : sizeof(node);
		node *n = (node *)malloc(size);
		void *behind = malloc(32); // so that it does not become a part of the top
		n->next = (node *)wild;
		if (is("freed-before-twin")) return free_then_value(n);
		if (!is("freed-twin")) {
			asm volatile("" : "+r"(n) : : "memory");
			volatile uintptr_t v = (uintptr_t)n;
			free((void *)v);
		}
		return value_of_next(n) + (behind != 0);
	}
	if (is("freed-call") || is("freed-call-twin") || is("freed-wild-call") || is("freed-wild-call-twin")) {
		caller *c = (caller *)malloc(sizeof(caller));
		void *behind = malloc(32);
		c->call = (void (*)())(is("freed-call") || is("freed-call-twin") ? (uintptr_t)0x20000 : (uintptr_t)wild);
		asm volatile("" : "+r"(c) : : "memory");
		if (is("freed-call") || is("freed-wild-call")) {
			volatile uintptr_t v = (uintptr_t)c;
			free((void *)v);
		}
		call_through(c);
		return behind != 0;
	}
	if (is("wild-return")) asm volatile("push %0; ret" ::"r"(wild) : "memory");
	if (is("wild-return-twin")) asm volatile("mov %0, %%rsp; ret" ::"r"(wild) : "memory");
	if (is("bad-free")) free((void *)(uintptr_t)&numbers[2]);
	if (is("smashed")) asm volatile("call __stack_chk_fail");
	if (is("overrun")) asm volatile("call __chk_fail");
	if (is("exception")) throw no_disk();
	if (is("exception-twin")) {
		try {
			throw no_disk();
		} catch (std::exception &) {
		}
		std::terminate();
	}
	if (is("exception-nested")) {
		try {
			throw std::logic_error("caught");
		} catch (std::exception &) {
			throw no_disk();
		}
	}
	if (is("memory")) {
		size_t much = (size_t)-1 / 4 * many / 100;
		return (int)(intptr_t) new char[much];
	}
	if (is("raised")) raise(SIGABRT);
	if (is("aborted")) abort();
	if (is("sent")) pause();
	return 0;
}
