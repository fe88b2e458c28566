#include <unistd.h>

static void inner(void) { pause(); }

static void outer(void) { inner(); }

int main(void)
{
	for (;;)
		outer();
}
