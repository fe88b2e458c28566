// Both bugs crash in by_name, which qsort calls: one table has an empty slot, one list of
// files was read only in part.
#include "../noise.h"
#include <string.h>

struct record { char *name; int size; };

static int by_name(const void *a, const void *b)
{
	const struct record *x = *(struct record *const *)a, *y = *(struct record *const *)b;
	if (x->name[0] != y->name[0])
		return x->name[0] - y->name[0];
	return x->size - y->size;
}

static struct record *slots[8];

static void compact(int n)
{
	qsort(slots, n, sizeof slots[0], by_name);
	noise_rounds++;
}

static void grow_table(void)
{
	for (int i = 0; i < 5; i++) {
		slots[i] = malloc(sizeof *slots[i]);
		slots[i]->name = "slot";
		slots[i]->size = 5 - i;
	}
	compact(6);
	noise_rounds++;
}

struct listing { struct record **files; int count; };

static void read_files(struct listing *l)
{
	for (int i = 0; i < l->count - 1; i++) {
		l->files[i] = calloc(1, sizeof **l->files);
		l->files[i]->name = "file";
	}
	l->files[l->count - 1] = calloc(1, sizeof **l->files);
}

static void sort_listing(struct listing *l)
{
	qsort(l->files, l->count, sizeof *l->files, by_name);
	noise_rounds++;
}

static void show_listing(struct listing *l)
{
	read_files(l);
	sort_listing(l);
	noise_rounds += l->count;
}

static void list_directory(void)
{
	struct listing l = {calloc(4, sizeof(struct record *)), 4};
	show_listing(&l);
	noise_rounds++;
}

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? grow_table : list_directory);
	return argc;
}
