// Crashes with local variables that point to the heap, to a list and to globals.
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *next;
	int value;
};

static char filler[1 << 20];
static int counts[4] = {1, 2, 3, 4};

static int fail(const char *name, struct node *list, const int *numbers)
{
	struct node first = *list;
	char *copy = strdup(name);
	volatile int *nowhere = 0;
	filler[0] = copy[0];
	return *nowhere + first.value + numbers[0];
}

int main(void)
{
	struct node *list = 0;
	for (int i = 0; i < 1000; i++) {
		struct node *n = malloc(sizeof(*n) + 4096);
		n->next = list;
		n->value = i;
		list = n;
	}
	counts[1] = 20;
	char *name = malloc(5000);
	memset(name, 'x', 4999);
	name[4999] = 0;
	return fail(name, list, counts);
}
