// Both bugs read a mapped file beyond its end in sum_block: one header counts more blocks
// than were copied, one file was compacted while a replica looked at it.
#define _GNU_SOURCE
#include "../noise.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK = 1 << 16 };

struct segment { int fd; const unsigned char *base; long blocks; };

static unsigned sum_block(const struct segment *s, long n)
{
	const unsigned char *at = s->base + n * BLOCK;
	unsigned sum = 1;
	for (int i = 0; i < BLOCK; i++)
		sum = sum * 31 + at[i];
	return sum;
}

static int create(long blocks, long counted)
{
	int fd = memfd_create("segment", 0);
	if (fd < 0 || ftruncate(fd, blocks * BLOCK) < 0)
		exit(1);
	if (pwrite(fd, &counted, sizeof counted, 0) != sizeof counted)
		exit(1);
	return fd;
}

static void map_segment(struct segment *s, int fd)
{
	long counted;
	if (pread(fd, &counted, sizeof counted, 0) != sizeof counted)
		exit(1);
	s->fd = fd;
	s->blocks = counted;
	s->base = mmap(NULL, counted * BLOCK, PROT_READ, MAP_SHARED, fd, 0);
	if (s->base == MAP_FAILED)
		exit(1);
}

static void unmap_segment(struct segment *s)
{
	munmap((void *)s->base, s->blocks * BLOCK);
	close(s->fd);
}

typedef int (*block_visitor)(const struct segment *s, long n, void *arg);

static int each_block(const struct segment *s, block_visitor visit, void *arg)
{
	for (long n = 1; n < s->blocks; n++) {
		int failed = visit(s, n, arg);
		if (failed)
			return failed;
	}
	return 0;
}

struct audit { unsigned seen[16]; int bad; };

static int audit_block(const struct segment *s, long n, void *arg)
{
	struct audit *a = arg;
	a->seen[n % 16] = sum_block(s, n);
	a->bad += a->seen[n % 16] == 0;
	return a->bad > 3;
}

static int verify(int fd)
{
	struct segment s;
	struct audit a = {{0}, 0};
	map_segment(&s, fd);
	int failed = each_block(&s, audit_block, &a);
	unmap_segment(&s);
	return failed + a.seen[1] % 2;
}

static void restore_backup(void)
{
	noise_rounds += verify(create(4, 4));
	noise_rounds += verify(create(4, 6));
}

struct replica { struct segment view; unsigned root; };

static unsigned digest(const struct segment *s, long from, long to)
{
	if (to - from == 1)
		return sum_block(s, from);
	long middle = from + (to - from) / 2;
	unsigned left = digest(s, from, middle);
	return left * 17 ^ digest(s, middle, to);
}

static void refresh(struct replica *r)
{
	r->root = digest(&r->view, 0, r->view.blocks);
}

static void compact(struct segment *s, long keep)
{
	if (ftruncate(s->fd, keep * BLOCK) < 0)
		exit(1);
	s->blocks = keep;
}

static void commit(struct segment *s, struct replica *replicas, int count)
{
	for (int i = 0; i < count; i++)
		refresh(&replicas[i]);
	if (s->blocks > 6)
		compact(s, s->blocks / 2);
}

static void write_twice(void)
{
	struct segment s;
	map_segment(&s, create(8, 8));
	struct replica replicas[2] = {{s, 0}, {s, 0}};
	commit(&s, replicas, 2);
	commit(&s, replicas, 2);
	noise_rounds += replicas[0].root % 2;
}

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? restore_backup : write_twice);
	return argc;
}
