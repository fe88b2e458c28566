/* A library of threads.c or modules.c: -DSELF=hop1 -DNEXT=hop2. */
int NEXT(int depth);
int bottom(void);

int SELF(int depth)
{
	volatile char frame[96];
	frame[0] = depth;
	int r = depth <= 0 ? bottom() : NEXT(depth - 1);
	return r + frame[0];
}
