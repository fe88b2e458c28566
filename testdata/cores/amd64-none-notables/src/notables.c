/* Functions without unwind tables and without frame pointers: deep recursion,
   a large frame, a variable one, an indirect call, a tail call, and one that
   does not return behind the crash. */
int (*volatile fp)(int);
int *volatile nowhere;

__attribute__((noinline, noipa)) int leaf(int n)
{
	if (n == 5) {
		*nowhere = n;
		__builtin_trap();
	}
	return n + 1;
}

__attribute__((noinline, noipa)) int big(int n)
{
	volatile char b[200];
	b[n] = 1;
	int r = n > 3 ? leaf(n) + b[n] : 2;
	if (r & 1)
		r += leaf(n + 1);
	else
		r *= leaf(n);
	return r;
}

__attribute__((noinline, noipa)) int indirect(int n) { return fp(n) + 1; }

__attribute__((noinline, noipa)) int rec(int n, int m)
{
	if (n == 0)
		return indirect(m);
	int r = rec(n - 1, m);
	for (int i = 0; i < r; i++)
		r ^= leaf(i & 3);
	return r + m;
}

__attribute__((noinline, noipa)) int variable(int n)
{
	char b[n];
	b[0] = n;
	int r = rec(20, n);
	return r + b[n - 1];
}

int main(void)
{
	fp = big;
	return variable(5) + 1;
}

__attribute__((naked)) void _start(void)
{
	__asm__("xor %ebp,%ebp; and $-16,%rsp; call main; mov %eax,%edi; mov $60,%eax; syscall; hlt");
}
