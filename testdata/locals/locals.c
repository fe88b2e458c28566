/* A program without a C library whose frames have variables of many kinds. */
#include <stdint.h>

enum colour { RED, GREEN = 5, BLUE = -2 };
enum flag { A = 1, B = 2, C = 4 };
struct point { short x, y; };
struct node {
	int id;
	struct node *next;
	char name[12];
	unsigned low : 3;
	int signed_bits : 5;
	uint64_t wide_bits : 40;
	struct point at[2];
	union {
		int32_t i;
		float f;
	} u;
};
typedef int (*handler)(int);

static volatile int sink = 1;
static int *volatile nowhere;
static struct node second = { 2, 0, "second", 1, -1, 77, { { 3, 4 }, { 5, 6 } }, { 9 } };
static struct node first = { 1, &second, "first\n\x1b[1m", 5, -3, 1099511627775ULL, { { -1, 2 }, { 300, -400 } }, { 0x40490fdb } };

__attribute__((noinline)) static int twice(int n) { return n * 2 + sink; }

static inline __attribute__((always_inline)) int poke(int *where, int what)
{
	int half = what / 2;
	*where = half + sink;
	return half;
}

__attribute__((noinline)) static int crash(struct node *n, long count, unsigned char byte, enum colour c, double ratio, const char *why)
{
	struct node copy = *n;
	int table[6] = { 0, 0, 0, 0, 0, (int)count };
	handler h = twice;
	enum flag flags = (enum flag)(A | C);
	_Bool yes = copy.id == 1;
	float third = (float)(ratio / 3);
	long double quarter = ratio / 4;
	__int128 big = (__int128)count << 70;
	char letter = *why;
	int r = poke(nowhere, table[5] + byte);
	sink = copy.low + flags + yes + (int)third + (int)quarter + (int)(big >> 64) + h(r) + letter + c;
	return r;
}

__attribute__((noinline)) static int descend(int depth, struct node *n)
{
	int here = depth * 10 + sink;
	int got = depth ? descend(depth - 1, n) : crash(n, here, 200, BLUE, 1.5, "null pointer");
	sink = got + here;
	return got + here;
}

__attribute__((noreturn)) void start_c(void)
{
	for (;;)
		sink = descend(2, &first);
}

#if defined __x86_64__
__asm__(".globl _start\n.type _start,@function\n_start:\n.cfi_startproc\n.cfi_undefined rip\nand $-16, %rsp\ncall start_c\nhlt\n.cfi_endproc\n.size _start,.-_start");
#elif defined __aarch64__
__asm__(".globl _start\n.type _start,%function\n_start:\n.cfi_startproc\n.cfi_undefined x30\nbl start_c\nbrk 0\n.cfi_endproc\n.size _start,.-_start");
#else
__asm__(".globl _start\n.type _start,@function\n_start:\n.cfi_startproc\n.cfi_undefined r14\naghi %r15,-160\nbrasl %r14,start_c\nj .\n.cfi_endproc\n.size _start,.-_start");
#endif
