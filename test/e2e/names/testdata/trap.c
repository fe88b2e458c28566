// A program without a C library, so that it starts with any object files.
void *__dso_handle;

static inline __attribute__((always_inline)) void innermost(int v)
{
	if (v)
		__builtin_trap();
}

static inline __attribute__((always_inline)) void inlined(int v)
{
	innermost(v + 1);
}

__attribute__((noinline)) void leaf(int v)
{
	inlined(v);
	__asm__ volatile("");
}

void _start(void)
{
	leaf(3);
	for (;;)
		;
}
