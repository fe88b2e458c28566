// Works in one library, and then in another at the same address.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

static void *with(const char *name)
{
	void *lib = dlopen(name, RTLD_NOW);
	void (*work)(unsigned long) = lib ? (void (*)(unsigned long))dlsym(lib, "work") : 0;
	if (!work) {
		fprintf(stderr, "%s\n", dlerror());
		return 0;
	}
	work(50000000);
	Dl_info info = {0};
	dladdr((void *)work, &info);
	dlclose(lib);
	return info.dli_fbase;
}

int main(void)
{
	void *first = with("./first.so"), *second = with("./second.so");
	return first && first == second ? 0 : 1;
}
