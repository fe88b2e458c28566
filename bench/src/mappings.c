/* mappings N MIB: N separate mappings of a page each, and one of MIB mebibytes,
   of which one page is written: the core file is that large, and sparse. Then
   the program aborts. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int fall(int depth)
{
	if (depth <= 0)
		abort();
	return fall(depth - 1) + 1;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10, mib = argc > 2 ? atol(argv[2]) : 0;
	char *page = mmap(0, 2 * n * 4096 + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (long i = 0; i < n; i++)
		if (mprotect(page + 2 * i * 4096, 4096, PROT_READ | PROT_WRITE)) {
			perror("mprotect");
			return 1;
		}
	if (mib) {
		char *big = mmap(0, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (big == MAP_FAILED) {
			perror("mmap");
			return 1;
		}
		*big = 1;
	}
	return fall(20);
}
