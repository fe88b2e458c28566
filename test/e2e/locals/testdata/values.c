/* A variable of each kind that C has. */
#include <stdint.h>
#include <stdlib.h>

enum colour { RED, GREEN = 5, BLUE = -2 };
enum flag { A = 1, B = 2, C = 4 };
struct node {
	int id;
	struct node *next;
	char name[16];
	double w;
	unsigned f1 : 3;
	int f2 : 5;
	unsigned long f3 : 40;
	union {
		int i;
		float f;
	} u;
	struct {
		short anonymous;
	};
};
typedef int (*fn)(int, char *);

static int callback(int a, char *b) { return a + b[0]; }
static struct node head = { 7, 0, "seven", 2.5, 5, -3, 123456789012UL, { 42 }, { -9 } };
int arr[3][2] = { { 1, 2 }, { 3, 4 }, { 5, 6 } };
volatile int sink;

__attribute__((noinline)) int boom(struct node *n, int count, const char *name, enum colour c, float fl, long double ld)
{
	char buf[32] = "hello\n\x1b[31mred";
	unsigned char raw[4] = { 1, 2, 255, 0 };
	int vla[count];
	for (int i = 0; i < count; i++)
		vla[i] = i * i;
	struct node copy = *n;
	fn f = callback;
	enum flag flags = A | C, odd = (enum flag)9;
	_Bool yes = 1;
	unsigned char uc = 200;
	signed char sc = -3;
	int64_t big = -5000000000LL;
	uint64_t ubig = ~0UL;
	__int128 wide = -((__int128)1 << 100);
	_Complex double z = 1.5 + 2.0i;
	int (*pa)[2] = arr;
	const struct node *const *pp = (const struct node *const *)&n;
	double nan = __builtin_nan(""), inf = -__builtin_inf();
	static int calls = 3;
	calls++;
	{
		int inner = count + 1, count = inner * 2;
		volatile int vi = inner;
		if (count > 0)
			abort();
		vi++;
	}
	sink = raw[1] + odd;
	return vla[0] + copy.id + f(1, buf) + flags + yes + uc + sc + big + ubig + wide + __real__ z + pa[0][0] + (*pp)->id + nan + inf;
}

int main(int argc, char **argv)
{
	int local = argc * 3;
	return boom(&head, local + 2, "bob", BLUE, 3.25f, 1.1L) + local;
}
