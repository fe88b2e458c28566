// Both bugs divide by zero in mean: one list is empty after it was filtered, one count has
// wrapped around.
#include "../noise.h"

static int mean(const int *values, unsigned char n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += values[i];
	return (sum + n - 1) / n;
}

static int filter(const int *from, int n, int *to, int limit)
{
	int kept = 0;
	for (int i = 0; i < n; i++)
		if (from[i] < limit)
			to[kept++] = from[i];
	return kept;
}

static int trimmed_mean(const int *values, int n, int limit)
{
	int kept[16];
	return mean(kept, filter(values, n, kept, limit));
}

static int score(const int *times, int n)
{
	int best = times[0];
	for (int i = 1; i < n; i++)
		if (times[i] < best)
			best = times[i];
	return trimmed_mean(times, n, best);
}

static void rank_players(void)
{
	int times[2][4] = {{31, 40, 35, 33}, {28, 30, 28, 41}};
	times[0][noise_rounds % 4]++;
	for (int i = 0; i < 2; i++)
		noise_rounds += score(times[i], 4);
}

struct window { int *values; int size, used; };

static void window_add(struct window *w, int value)
{
	w->values[w->used++ % w->size] = value;
}

static int window_mean(const struct window *w)
{
	return mean(w->values, w->used < w->size ? w->used : w->size);
}

static int smooth(struct window *w, int value)
{
	window_add(w, value);
	return window_mean(w);
}

static void plot(const int *samples, int n, int width)
{
	struct window w = {calloc(width, sizeof(int)), width, 0};
	for (int i = 0; i < n; i++)
		noise_rounds += smooth(&w, samples[i % 4]);
	free(w.values);
}

static void zoom_out(void)
{
	int samples[] = {4, 3, 5, 4};
	samples[noise_rounds % 4]++;
	plot(samples, 300, 256);
}

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? rank_players : zoom_out);
	return argc;
}
