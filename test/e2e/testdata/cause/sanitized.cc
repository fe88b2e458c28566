// sanitized ends as its argument says. Names that end in "-twin" look like the one before
// and have another cause.
#include <cstdio>
#include <cstdlib>
#include <string>

volatile int much = 2147483647;

int main(int argc, char **argv) {
	std::string how = argc > 1 ? argv[1] : "";
	if (how == "freed") {
		volatile long *p = (long *)malloc(32);
		free((void *)p);
		return p[1];
	}
	if (how == "beyond") {
		volatile char *p = (char *)malloc(32);
		p[32] = 1;
	}
	if (how == "undefined") return much + argc;
	if (how == "abort-twin") {
		fprintf(stderr, "==1==ERROR: AddressSanitizer: heap-use-after-free\n");
		abort();
	}
}
