// Both bugs fail the assertion of spend: one payer pays twice, one rounds up.
#include "../noise.h"
#include <assert.h>

struct account { long cents; };

static void spend(struct account *a, long cents)
{
	assert(cents <= a->cents);
	a->cents -= cents;
}

struct order { long price; int paid; };

static void pay(struct account *a, struct order *o)
{
	spend(a, o->price);
	o->paid++;
}

static void retry(struct account *a, struct order *o, int times)
{
	for (int i = 0; i < times; i++)
		pay(a, o);
}

static void check_out(void)
{
	struct account a = {1500 + noise_rounds % 2};
	struct order o = {900, 0};
	retry(&a, &o, 2);
	noise_rounds += a.cents;
}

static long share(long cents, int of) { return (cents + of - 1) / of; }

static void split_bill(struct account *a, int guests)
{
	long part = share(a->cents, guests);
	while (guests--)
		spend(a, part);
}

static int compare_bills(const void *a, const void *b)
{
	struct account left = *(const struct account *)a, right = *(const struct account *)b;
	split_bill(&left, 3);
	return left.cents > right.cents;
}

static void close_table(void)
{
	struct account bills[2] = {{1000 + noise_rounds % 2}, {1000}};
	qsort(bills, 2, sizeof bills[0], compare_bills);
	noise_rounds += bills[0].cents;
}

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? check_out : close_table);
	return argc;
}
