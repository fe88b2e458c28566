/* modules FILE...: loads each library, calls through the last few of them, and
   aborts at the bottom. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int bottom(void)
{
	abort();
}

int hop0(int depth)
{
	return depth <= 0 ? bottom() : hop0(depth - 1) + 1;
}

int main(int argc, char **argv)
{
	int (*f)(int) = hop0;
	for (int i = 1; i < argc; i++) {
		void *lib = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
		if (!lib || !(f = dlsym(lib, "hop"))) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
	}
	return f(20);
}
