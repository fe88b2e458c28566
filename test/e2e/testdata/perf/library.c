// A library whose frames have ROOM bytes: built twice, they are of the same size in the
// file, and need other tables.
static volatile unsigned long sink;

__attribute__((noinline)) static void spin(unsigned long n)
{
	volatile char room[ROOM];
	for (unsigned long i = 0; i < n; i++)
		room[i % ROOM] = (char)(sink += i);
}

__attribute__((noinline)) static void down(int depth, unsigned long n)
{
	volatile char room[ROOM];
	room[depth] = 1;
	if (depth > 0)
		down(depth - 1, n);
	else
		spin(n);
	sink += (unsigned long)room[depth];
}

void work(unsigned long n) { down(10, n); }
